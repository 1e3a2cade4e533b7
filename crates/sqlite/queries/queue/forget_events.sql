-- queue/forget_events.sql: the events of jobs that are being removed.
-- In     1 ids as a JSON array
-- Reply  nothing
-- Index  event_job
DELETE FROM event WHERE job IN (SELECT value FROM json_each(?1))
