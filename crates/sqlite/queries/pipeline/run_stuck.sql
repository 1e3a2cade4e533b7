-- pipeline/run_stuck.sql: the orchestrator could not read this run; it is left for a person.
-- Guard  none.
-- In     1 run
-- Reply  nothing
-- Index  run_touched's index on run; leaves run_touched_waiting
INSERT INTO run_touched (run, stuck) VALUES (?1, 1) ON CONFLICT (run) DO UPDATE SET stuck = 1
