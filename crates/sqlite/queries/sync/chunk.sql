-- sync/chunk.sql: one chunk, in whichever pass.
-- Params ?1 matrix_id, ?2 chunk_hash.
-- Reply  all its columns.
-- Index  the primary key.
SELECT sync, matrix_id, chunk_hash, ord, payload, attempt, attempts_max, last_synced_at, row_count, cursor,
       token, claimed_at, locked_by, locked_until, lease_ms, told, beats, last_beat_at, longest_gap_ms,
       completed_at, failed_at, error_message, reason
FROM sync_chunk WHERE matrix_id = ?1 AND chunk_hash = ?2;
