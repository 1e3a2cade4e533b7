-- sync/last_done.sql: when a chunk of a sync was last done (L6).
-- Params ?1 id.
-- Reply  the time, null if none was.
-- Index  the rowid.
SELECT last_done_at FROM sync_job WHERE id = ?1;
