-- sync/jobs_of.sql: syncs of one matrix, newest first.
-- Params ?1 below this id, ?2 how many, ?3 matrix_id, ?4 state or null, ?5 now.
-- Reply  all their columns.
-- Index  sync_job_matrix.
SELECT id, matrix_id, priority, created_at, skip_if_synced_within_ms, attempts_max, crashes, crashes_max, planned,
       token, claimed_at, locked_by, locked_until, lease_ms, told, beats, last_beat_at, longest_gap_ms,
       completed_at, failed_at, error_message, reason,
       done_available, done_completed, done_failed, done_skipped, done_rows, done_began_at, done_last_at
FROM sync_job WHERE matrix_id = ?3 AND id < ?1
  AND (?4 IS NULL OR ?4 = CASE WHEN completed_at IS NOT NULL THEN 'COMPLETED' WHEN failed_at IS NOT NULL THEN 'FAILED'
                       WHEN locked_until > ?5 THEN 'RUNNING' WHEN locked_until IS NOT NULL THEN 'EXPIRED'
                       ELSE 'AVAILABLE' END)
ORDER BY id DESC LIMIT ?2;
