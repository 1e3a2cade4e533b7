-- sync/given_back.sql: forgets what was kept of chunks that a draft has given back, the first by hash.
-- Params ?1 draft, ?2 how many.
-- Reply  nothing.
-- Index  the primary key.
DELETE FROM sync_taken WHERE draft = ?1
   AND chunk_hash IN (SELECT chunk_hash FROM sync_taken WHERE draft = ?1 ORDER BY chunk_hash LIMIT ?2);
