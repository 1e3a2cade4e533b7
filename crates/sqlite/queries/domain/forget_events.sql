-- domain/forget_events.sql: events beyond the last hundred.
-- In     1 domain, 2 the last seq to forget
-- Reply  nothing
-- Index  domain_event's key; at most one row, for it runs with each event
DELETE FROM domain_event WHERE domain = ?1 AND seq <= ?2
