-- sync/event.sql: writes down what went otherwise than well (L8).
-- Params the columns, in their order.
-- Reply  nothing.
-- Index  sync_event_sync.
INSERT INTO sync_event (at, sync, chunk_hash, what, token, owner, attempt, reason, error, by)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10);
