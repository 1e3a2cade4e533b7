-- sync/untold_jobs.sql: syncs whose lease ran out and was not written down yet, oldest deadline first (L7).
-- Params ?1 now, ?2 how many.
-- Reply  their ids.
-- Index  sync_job_locked.
SELECT id FROM sync_job WHERE locked_until IS NOT NULL AND locked_until <= ?1 AND told = 0
ORDER BY locked_until, id LIMIT ?2;
