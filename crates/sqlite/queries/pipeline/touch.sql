-- pipeline/touch.sql: something happened in a run that the orchestrator should look at.
-- Guard  none.
-- In     1 run
-- Reply  nothing
-- Index  run_touched's key
INSERT OR IGNORE INTO run_touched (run) VALUES (?1)
