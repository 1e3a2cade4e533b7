-- queue/events.sql: what is stored about a job, oldest first.
-- In     1 job
-- Reply  one row each
-- Index  event_job
SELECT at, what, token, owner, attempt, verb, lost, reason, until, error, count, first_at, by
FROM event
WHERE job = ?1 ORDER BY id
