-- sync/forget_chunks.sql: removes chunks that no later pass took over.
-- Params ?1 sync, ?2 how many.
-- Reply  nothing.
-- Index  sync_chunk_place.
DELETE FROM sync_chunk WHERE rowid IN (SELECT rowid FROM sync_chunk WHERE sync = ?1 LIMIT ?2);
