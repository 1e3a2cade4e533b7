-- sync/forget_events.sql: removes events of a sync.
-- Params ?1 sync, ?2 how many.
-- Reply  nothing.
-- Index  sync_event_sync.
DELETE FROM sync_event WHERE id IN (SELECT id FROM sync_event WHERE sync = ?1 LIMIT ?2);
