-- queue/leave.sql: a job that became history leaves the hot table.
-- In     1 id
-- Reply  nothing
-- Index  job's key; leaves job_queue
DELETE FROM job WHERE id = ?1
