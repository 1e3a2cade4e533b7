-- pipeline/touch.sql: something happened in a run that the orchestrator should look at. One that waits keeps its place.
-- Guard  none.
-- In     1 run
-- Reply  nothing
-- Index  run_touched's index on run
INSERT INTO run_touched (run) VALUES (?1) ON CONFLICT (run) DO UPDATE SET stuck = 0 WHERE stuck = 1
