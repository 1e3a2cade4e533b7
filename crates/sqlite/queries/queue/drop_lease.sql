-- queue/drop_lease.sql: the last job of a lease has ended.
-- In     1 token
-- Reply  nothing
-- Index  lease's key
DELETE FROM lease WHERE token = ?1
