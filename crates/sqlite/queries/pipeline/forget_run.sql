-- pipeline/forget_run.sql: a run that is no longer kept.
-- Guard  none.
-- In     1 run
-- Reply  nothing
-- Index  run's key
DELETE FROM run WHERE id = ?1
