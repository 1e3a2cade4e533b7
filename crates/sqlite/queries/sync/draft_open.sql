-- sync/draft_open.sql: a plan too large for one transaction begins.
-- Params ?1 id, ?2 matrix_id, ?3 now.
-- Reply  nothing.
-- Index  the rowid.
INSERT INTO sync_draft (id, matrix_id, at) VALUES (?1, ?2, ?3);
