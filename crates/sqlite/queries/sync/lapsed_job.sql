-- sync/lapsed_job.sql: the first sync whose lease ran out (S2). They are few: one for each matrix at most.
-- Params ?1 now, ?2 how many to pass over.
-- Reply  its id, or no row.
-- Index  sync_job_locked.
SELECT id FROM sync_job INDEXED BY sync_job_locked WHERE locked_until IS NOT NULL AND locked_until <= ?1
ORDER BY priority DESC, created_at, id LIMIT 1 OFFSET ?2;
