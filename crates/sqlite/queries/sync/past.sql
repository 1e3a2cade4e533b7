-- sync/past.sql: ended syncs past their retention, which a later pass of their matrix followed (I19).
-- Params ?1 ended before, ?2 how many.
-- Reply  their ids.
-- Index  sync_job_ended.
SELECT id FROM sync_job j
 WHERE (completed_at IS NOT NULL OR failed_at IS NOT NULL) AND coalesce(completed_at, failed_at) <= ?1
   AND EXISTS (SELECT 1 FROM sync_job l WHERE l.matrix_id = j.matrix_id AND l.id > j.id)
LIMIT ?2;
