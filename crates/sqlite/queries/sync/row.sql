-- SYNC_CHUNK: one chunk, in whichever pass.
-- Params ?1 matrix_id, ?2 chunk_hash.
-- Reply  all its columns.
-- Index  the primary key.
SELECT * FROM tenure_sync_chunk_shown WHERE matrix_id = ?1 AND chunk_hash = ?2;

-- SYNC_EVENT: writes down what went otherwise than well (L8).
-- Params the columns, in their order.
-- Reply  nothing.
-- Index  tenure_sync_event_sync.
INSERT INTO tenure_sync_event (at, sync, chunk_hash, what, token, owner, attempt, reason, error, by)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10);

-- SYNC_JOB: one sync.
-- Params ?1 id.
-- Reply  all its columns.
-- Index  the rowid.
SELECT * FROM tenure_sync_job_shown WHERE id = ?1;

-- SYNC_RECEIPT: what is remembered of an ended claim (L12).
-- Params ?1 sync, ?2 chunk_hash, ?3 token.
-- Reply  owner, verb, state, whether cancelled, when.
-- Index  the primary key.
SELECT owner, verb, state, cancelled, at FROM tenure_sync_receipt WHERE sync = ?1 AND chunk_hash = ?2 AND token = ?3;

-- SYNC_REMEMBER: keeps an ended claim for its hour (L12).
-- Params ?1 sync, ?2 chunk_hash, ?3 token, ?4 owner, ?5 verb, ?6 state, ?7 cancelled, ?8 at.
-- Reply  nothing.
-- Index  the primary key.
INSERT INTO tenure_sync_receipt (sync, chunk_hash, token, owner, verb, state, cancelled, at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING;

-- SYNC_SAVE_CHUNK: what a claim, a heartbeat or an ending made of a chunk.
-- Guard  matrix, hash and the token that was read.
-- Params ?1 matrix_id, ?2 chunk_hash, ?3 the token that was read, then the columns.
-- Reply  nothing.
-- Index  the primary key.
UPDATE tenure_sync_chunk
   SET token = ?4, claimed_at = ?5, locked_by = ?6, locked_until = ?7, lease_ms = ?8, told = ?9, beats = ?10,
       last_beat_at = ?11, longest_gap_ms = ?12, completed_at = ?13, failed_at = ?14, error_message = ?15, reason = ?16,
       attempt = ?17, last_synced_at = ?18, row_count = ?19, cursor = ?20
 WHERE matrix_id = ?1 AND chunk_hash = ?2 AND token IS ?3;

-- SYNC_SAVE_JOB: what a claim, a heartbeat or an ending made of a sync.
-- Guard  its id and the token that was read.
-- Params ?1 id, ?2 the token that was read, then the columns.
-- Reply  nothing.
-- Index  the rowid.
UPDATE tenure_sync_job
   SET token = ?3, claimed_at = ?4, locked_by = ?5, locked_until = ?6, lease_ms = ?7, told = ?8, beats = ?9,
       last_beat_at = ?10, longest_gap_ms = ?11, completed_at = ?12, failed_at = ?13, error_message = ?14, reason = ?15,
       crashes = ?16
 WHERE id = ?1 AND token IS ?2;
