-- sync/forget.sql: removes a sync of which nothing is left.
-- Params ?1 id.
-- Reply  nothing.
-- Index  the rowid, sync_chunk_place, sync_event_sync.
DELETE FROM sync_job WHERE id = ?1
   AND NOT EXISTS (SELECT 1 FROM sync_chunk WHERE sync = ?1) AND NOT EXISTS (SELECT 1 FROM sync_event WHERE sync = ?1);
