-- sync/progressed.sql: a chunk was done: the sync is not what kills its workers (L6).
-- Params ?1 id, ?2 when.
-- Reply  nothing.
-- Index  the rowid.
UPDATE sync_job SET crashes = 0, last_done_at = ?2 WHERE id = ?1;
