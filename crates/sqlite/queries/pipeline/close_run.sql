-- pipeline/close_run.sql: nothing of a paused run is handed out.
-- Guard  none.
-- In     1 run
-- Reply  nothing
-- Index  unit's keys
UPDATE unit SET open = 0 WHERE run = ?1 AND status = 'READY'
