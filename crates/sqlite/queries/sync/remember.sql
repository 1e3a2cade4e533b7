-- sync/remember.sql: keeps an ended claim for its hour (L12).
-- Params ?1 sync, ?2 chunk_hash, ?3 token, ?4 owner, ?5 verb, ?6 state, ?7 cancelled, ?8 at.
-- Reply  nothing.
-- Index  the primary key.
INSERT INTO sync_receipt (sync, chunk_hash, token, owner, verb, state, cancelled, at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8) ON CONFLICT DO NOTHING;
