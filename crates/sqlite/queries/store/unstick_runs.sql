-- store/unstick_runs.sql: runs that could not be read are looked at again after a restart.
-- In     nothing
-- Reply  nothing
-- Index  run_touched_stuck
UPDATE run_touched SET stuck = 0 WHERE stuck = 1
