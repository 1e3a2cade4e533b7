-- sync/chunk_aside.sql: recovery could not read this chunk; it is left for a person, and not met again.
-- Params ?1 matrix_id, ?2 chunk_hash.
-- Reply  nothing.
-- Index  the primary key.
UPDATE sync_chunk SET told = 1 WHERE matrix_id = ?1 AND chunk_hash = ?2;
