-- queue/event.sql: something abnormal happened (L8).
-- In     1 at, 2 job, 3 what, 4 token, 5 owner, 6 attempt, 7 reason, 8 until, 9 error, 10 by
-- Reply  nothing
-- Index  writes event_job
INSERT INTO event (at, job, what, token, owner, attempt, reason, until, error, by)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)
