-- queue/dedup.sql: the job that a key stands for (Q7).
-- In     1 queue, 2 key
-- Reply  at most one row: job, until, body, place while it is unfinished, how it ended
-- Index  dedup's, job's and finished's keys
SELECT d.job, d.until, d.body, (SELECT place FROM job WHERE job.id = d.job),
       coalesce(d.ended, (SELECT status FROM finished WHERE finished.id = d.job))
FROM dedup AS d WHERE d.queue = ?1 AND d.key = ?2
