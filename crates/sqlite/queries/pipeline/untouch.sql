-- pipeline/untouch.sql: a run has been looked at.
-- Guard  none.
-- In     1 run
-- Reply  nothing
-- Index  run_touched's index on run
DELETE FROM run_touched WHERE run = ?1
