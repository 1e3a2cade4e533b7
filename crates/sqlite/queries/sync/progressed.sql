-- sync/progressed.sql: a chunk was done: the sync is not what kills its workers (L6).
-- Params ?1 id.
-- Reply  nothing.
-- Index  the rowid.
UPDATE sync_job SET crashes = 0 WHERE id = ?1 AND crashes > 0;
