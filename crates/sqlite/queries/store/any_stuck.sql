-- store/any_stuck.sql: whether recovery gave up on a lease or a unit, a claim on a job, or the orchestrator on a run.
-- In     nothing
-- Reply  one row
-- Index  lease read whole, once per opening; job_stuck, unit_stuck, run_touched_stuck
SELECT EXISTS (SELECT 1 FROM lease WHERE stuck = 1)
    OR EXISTS (SELECT 1 FROM job WHERE place = 5)
    OR EXISTS (SELECT 1 FROM unit WHERE stuck = 1)
    OR EXISTS (SELECT 1 FROM run_touched WHERE stuck = 1)
