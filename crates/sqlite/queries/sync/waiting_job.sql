-- sync/waiting_job.sql: the first sync that waits (S2).
-- Params ?1 how many to pass over.
-- Reply  its id, or no row.
-- Index  sync_job_waiting.
SELECT id FROM sync_job
 WHERE completed_at IS NULL AND failed_at IS NULL AND locked_until IS NULL
ORDER BY priority DESC, created_at, id LIMIT 1 OFFSET ?1;
