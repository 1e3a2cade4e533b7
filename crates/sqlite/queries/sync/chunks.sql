-- sync/chunks.sql: chunks of a sync that match, in the order of the plan.
-- Params ?1 sync, ?2 after this place, ?3 how many, ?4 state or null, ?5 now.
-- Reply  all their columns.
-- Index  sync_chunk_place.
SELECT sync, matrix_id, chunk_hash, ord, payload, attempt, attempts_max, last_synced_at, row_count, cursor,
       token, claimed_at, locked_by, locked_until, lease_ms, told, beats, last_beat_at, longest_gap_ms,
       completed_at, failed_at, error_message, reason
FROM sync_chunk WHERE sync = ?1 AND ord > ?2 AND EXISTS (SELECT 1 FROM sync_job WHERE id = ?1)
  AND (?4 IS NULL OR ?4 = CASE WHEN completed_at IS NOT NULL THEN 'COMPLETED' WHEN failed_at IS NOT NULL THEN 'FAILED'
                       WHEN locked_until > ?5 THEN 'RUNNING' WHEN locked_until IS NOT NULL THEN 'EXPIRED'
                       ELSE 'AVAILABLE' END)
ORDER BY ord LIMIT ?3;
