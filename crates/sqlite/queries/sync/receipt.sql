-- sync/receipt.sql: what is remembered of an ended claim (L12).
-- Params ?1 sync, ?2 chunk_hash, ?3 token.
-- Reply  owner, verb, state, whether cancelled, when.
-- Index  the primary key.
SELECT owner, verb, state, cancelled, at FROM sync_receipt WHERE sync = ?1 AND chunk_hash = ?2 AND token = ?3;
