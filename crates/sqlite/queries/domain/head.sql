-- domain/head.sql: the first offset that waits.
-- In     1 domain
-- Reply  at most one row: offset
-- Index  domain_waiting's key, one entry
SELECT waiting_offset FROM domain_waiting WHERE domain = ?1 ORDER BY seq LIMIT 1
