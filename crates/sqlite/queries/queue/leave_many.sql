-- queue/leave_many.sql: jobs that became history leave the hot table.
-- In     1 ids as a JSON array
-- Reply  nothing
-- Index  job's key; leaves job_queue
DELETE FROM job WHERE id IN (SELECT value FROM json_each(?1))
