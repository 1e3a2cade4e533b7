-- sync/lay.sql: puts a chunk at the end of a plan. One of an earlier pass is taken over: token, last sync, rows and cursor stay (S4).
-- Params ?1 matrix_id, ?2 chunk_hash, ?3 sync, ?4 ord, ?5 attempts_max, ?6 payload, ?7 now, ?8 chunks synced after this are skipped, or null.
-- Reply  whether it counts as done already; no row if it is in this plan.
-- Index  the primary key.
INSERT INTO sync_chunk (matrix_id, chunk_hash, sync, ord, attempts_max, payload) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (matrix_id, chunk_hash) DO UPDATE
   SET sync = excluded.sync, ord = excluded.ord, attempts_max = excluded.attempts_max, payload = excluded.payload,
       attempt = 0, claimed_at = NULL, locked_by = NULL, locked_until = NULL, lease_ms = NULL, told = 0, beats = 0,
       last_beat_at = NULL, longest_gap_ms = 0, failed_at = NULL, error_message = NULL, reason = NULL,
       completed_at = CASE WHEN last_synced_at > ?8 THEN ?7 END
 WHERE sync <> excluded.sync
RETURNING completed_at IS NOT NULL;
