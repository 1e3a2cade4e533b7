-- queue/lease_cancels.sql: the next heartbeat of a lease looks for jobs to cancel.
-- In     1 token
-- Reply  nothing
-- Index  lease's key
UPDATE lease SET cancels = 1 WHERE token = ?1
