-- queue/promote.sql: scheduled jobs that are due take their place among the ready ones.
-- Guard  place: only scheduled ones.
-- In     1 queue, 2 now, 3 at most how many
-- Reply  nothing
-- Index  job_scheduled
UPDATE job SET place = 0
WHERE id IN (SELECT id FROM job WHERE queue = ?1 AND place = 1 AND run_at <= ?2 ORDER BY run_at LIMIT ?3)
