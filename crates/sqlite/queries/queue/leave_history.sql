-- queue/leave_history.sql: a job that was put back leaves history.
-- In     1 id
-- Reply  nothing
-- Index  finished's key
DELETE FROM finished WHERE id = ?1
