-- domain/leave.sql: an offset waits no longer.
-- In     1 domain, 2 offset
-- Reply  nothing; no row changed where it did not wait
-- Index  domain_waiting_once
DELETE FROM domain_waiting WHERE domain = ?1 AND waiting_offset = ?2
