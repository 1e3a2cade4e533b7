-- pipeline/events.sql: the last events of a run.
-- Guard  none.
-- In     1 run, 2 how many
-- Reply  rows, newest first
-- Index  unit_event_run
SELECT run, at, stage, segment, what, token, owner, attempt, verb, lost, reason, until, error, count, first_at,
       by
  FROM unit_event WHERE run = ?1 ORDER BY id DESC LIMIT ?2
