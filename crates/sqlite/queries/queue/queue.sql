-- queue/queue.sql: what a queue holds. Counts stop just above their bound, so a long queue costs no more.
-- In     1 name, 2 the bound of a count plus one, 3 how many are running
-- Reply  one row: queued, completed, failed, created_at of the waiting job with the smallest id
-- Index  job_queue for what is queued or running, finished_queue_status
SELECT (SELECT count(*) FROM (SELECT 1 FROM job WHERE queue = ?1 LIMIT ?2 + ?3)) - ?3,
       (SELECT count(*) FROM (SELECT 1 FROM finished WHERE queue = ?1 AND status = 'completed' LIMIT ?2)),
       (SELECT count(*) FROM (SELECT 1 FROM finished WHERE queue = ?1 AND status = 'failed' LIMIT ?2)),
       (SELECT created_at FROM job INDEXED BY job_queue WHERE queue = ?1 AND place <> 2 ORDER BY id LIMIT 1)
