-- sync/events.sql: the latest events of a sync, newest first.
-- Params ?1 sync, ?2 how many.
-- Reply  their columns.
-- Index  sync_event_sync.
SELECT at, chunk_hash, what, token, owner, attempt, verb, lost, reason, error, count, first_at, by
FROM sync_event WHERE sync = ?1 ORDER BY id DESC LIMIT ?2;
