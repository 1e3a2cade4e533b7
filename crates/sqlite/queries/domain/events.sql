-- domain/events.sql: the events of a domain, in the order in which they were written.
-- In     1 name
-- Reply  at most a hundred rows
-- Index  domain's unique name, domain_event's key
SELECT e.at, e.what, e.event_offset, e.token, e.holder, e.nth, e.by
FROM domain d JOIN domain_event e ON e.domain = d.id
WHERE d.name = ?1 ORDER BY e.seq
