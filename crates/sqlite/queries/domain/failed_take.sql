-- domain/failed_take.sql: takes the range out that begins at an offset.
-- In     1 domain, 2 from
-- Reply  at most one row: to
-- Index  domain_failed's key
DELETE FROM domain_failed WHERE domain = ?1 AND from_offset = ?2 RETURNING to_offset
