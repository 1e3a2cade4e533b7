-- queue/claim_one.sql: the same for a job with a lease of its own.
-- Guard  place: a job is claimed once.
-- In     1 id, 2 token
-- Reply  nothing; one row changed
-- Index  job's key; leaves job_ready or job_parked
UPDATE job SET place = 2, token = ?2, attempt = attempt + 1 WHERE id = ?1 AND place IN (0, 3)
