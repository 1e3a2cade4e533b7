-- queue/shrink_lease.sql: some jobs of a lease have ended.
-- In     1 token, 2 how many are left
-- Reply  nothing
-- Index  lease's key
UPDATE lease SET left_count = ?2 WHERE token = ?1
