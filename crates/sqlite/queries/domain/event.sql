-- domain/event.sql: something happened (L8).
-- In     1 domain, 2 seq, 3 at, 4 what, 5 offset, 6 token, 7 holder, 8 nth, 9 by
-- Reply  nothing
-- Index  domain_event's key
INSERT INTO domain_event (domain, seq, at, what, event_offset, token, holder, nth, by)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)
