-- domain/ended_below.sql: the range that begins at or before an offset, the last of them.
-- In     1 domain, 2 offset
-- Reply  at most one row: from, to
-- Index  domain_ended's key, one entry
SELECT from_offset, to_offset FROM domain_ended
WHERE domain = ?1 AND from_offset <= ?2 ORDER BY from_offset DESC LIMIT 1
