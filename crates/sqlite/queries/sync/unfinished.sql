-- sync/unfinished.sql: the sync of a matrix that has not ended (S6).
-- Params ?1 matrix_id.
-- Reply  its id, or no row.
-- Index  sync_job_unfinished.
SELECT id FROM sync_job WHERE matrix_id = ?1 AND completed_at IS NULL AND failed_at IS NULL;
