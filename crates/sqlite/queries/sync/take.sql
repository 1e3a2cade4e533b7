-- sync/take.sql: keeps what a draft is about to change of a chunk of an earlier pass, once however often the plan names it.
-- Params ?1 matrix_id, ?2 chunk_hash, ?3 draft.
-- Reply  nothing.
-- Index  the primary key.
INSERT OR IGNORE INTO sync_taken (draft, chunk_hash, sync, ord, attempt, attempts_max, claimed_at, completed_at, failed_at,
                                  error_message, reason, payload)
SELECT ?3, chunk_hash, sync, ord, attempt, attempts_max, claimed_at, completed_at, failed_at, error_message, reason, payload
  FROM sync_chunk WHERE matrix_id = ?1 AND chunk_hash = ?2 AND sync <> ?3;
