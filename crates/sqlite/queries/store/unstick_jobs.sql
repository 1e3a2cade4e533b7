-- store/unstick_jobs.sql: jobs that could not be read are tried again after a restart, as leases are: the next claim of
-- their queue lets those stand that are due.
-- In     nothing
-- Reply  nothing
-- Index  job_stuck
UPDATE job SET place = 1 WHERE place = 5
