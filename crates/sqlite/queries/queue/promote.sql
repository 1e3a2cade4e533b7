-- queue/promote.sql: scheduled jobs that are due take their place among the ready ones; those of a tenant among
-- its parked ones first.
-- Guard  place: only scheduled ones.
-- In     1 queue, 2 now, 3 at most how many
-- Reply  limit_key of each
-- Index  job_scheduled
UPDATE job SET place = CASE WHEN limit_key IS NULL THEN 0 ELSE 3 END
WHERE id IN (SELECT id FROM job WHERE queue = ?1 AND place = 1 AND run_at <= ?2 ORDER BY run_at LIMIT ?3)
RETURNING limit_key
