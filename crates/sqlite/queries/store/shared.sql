-- ANY_STUCK: whether recovery gave up on a lease or a unit, a claim on a job, or the orchestrator on a run.
-- In     nothing
-- Reply  one row
-- Index  tenure_lease read whole, once per opening; tenure_job_stuck, tenure_unit_stuck, tenure_run_touched_stuck
SELECT EXISTS (SELECT 1 FROM tenure_lease WHERE stuck = 1)
    OR EXISTS (SELECT 1 FROM tenure_job WHERE place = 5)
    OR EXISTS (SELECT 1 FROM tenure_unit WHERE stuck = 1)
    OR EXISTS (SELECT 1 FROM tenure_run_touched WHERE stuck = 1)

-- PROBE: a write like any other, to be taken back.
-- In     nothing
-- Reply  nothing
-- Index  tenure_meta's key
UPDATE tenure_meta SET epoch = epoch + 1 WHERE only = 1

-- UNSTICK: leases that recovery gave up on are tried again after a restart, which may have mended the cause.
-- In     nothing
-- Reply  nothing
-- Index  tenure_lease read whole, once per opening
UPDATE tenure_lease SET stuck = 0 WHERE stuck = 1

-- UNSTICK_JOBS: jobs that could not be read are tried again after a restart, as leases are: the next claim of
-- their queue lets those stand that are due.
-- In     nothing
-- Reply  nothing
-- Index  tenure_job_stuck
UPDATE tenure_job SET place = 1 WHERE place = 5

-- UNSTICK_RUNS: runs that could not be read are looked at again after a restart.
-- In     nothing
-- Reply  nothing
-- Index  tenure_run_touched_stuck
UPDATE tenure_run_touched SET stuck = 0 WHERE stuck = 1

-- UNSTICK_UNITS: units that could not be read are tried again after a restart, as leases are.
-- In     nothing
-- Reply  nothing
-- Index  tenure_unit_stuck
UPDATE tenure_unit SET stuck = 0 WHERE stuck = 1
