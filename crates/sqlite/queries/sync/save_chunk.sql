-- sync/save_chunk.sql: what a claim, a heartbeat or an ending made of a chunk.
-- Guard  matrix, hash and the token that was read.
-- Params ?1 matrix_id, ?2 chunk_hash, ?3 the token that was read, then the columns.
-- Reply  nothing.
-- Index  the primary key.
UPDATE sync_chunk
   SET token = ?4, claimed_at = ?5, locked_by = ?6, locked_until = ?7, lease_ms = ?8, told = ?9, beats = ?10,
       last_beat_at = ?11, longest_gap_ms = ?12, completed_at = ?13, failed_at = ?14, error_message = ?15, reason = ?16,
       attempt = ?17, last_synced_at = ?18, row_count = ?19, cursor = ?20
 WHERE matrix_id = ?1 AND chunk_hash = ?2 AND token IS ?3;
