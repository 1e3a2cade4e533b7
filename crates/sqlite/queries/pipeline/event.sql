-- pipeline/event.sql: something abnormal happened (L8).
-- Guard  none.
-- In     1 run, 2 at, 3 stage, 4 segment, 5 what, 6 token, 7 owner, 8 attempt, 9 reason, 10 until, 11 error, 12 by
-- Reply  nothing
-- Index  unit_event_run
INSERT INTO unit_event (run, at, stage, segment, what, token, owner, attempt, reason, until, error, by)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)
