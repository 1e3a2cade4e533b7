-- queue/grant.sql: a new lease over jobs of one queue.
-- In     1 token, 2 owner, 3 queue, 4 units, 5 started, 6 left_count, 7 lease_ms, 8 granted_at, 9 expires_at,
--        10 ends_at, 11 keyed
-- Reply  nothing
-- Index  writes lease_expires, lease_queue_expires
INSERT INTO lease (token, owner, queue, units, started, left_count, lease_ms, granted_at, expires_at, ends_at, keyed)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)
