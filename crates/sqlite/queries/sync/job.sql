-- sync/job.sql: one sync.
-- Params ?1 id.
-- Reply  all its columns.
-- Index  the rowid.
SELECT id, matrix_id, priority, created_at, skip_if_synced_within_ms, attempts_max, crashes, crashes_max, planned,
       token, claimed_at, locked_by, locked_until, lease_ms, told, beats, last_beat_at, longest_gap_ms,
       completed_at, failed_at, error_message, reason,
       done_available, done_completed, done_failed, done_skipped, done_rows, done_began_at, done_last_at
FROM sync_job WHERE id = ?1;
