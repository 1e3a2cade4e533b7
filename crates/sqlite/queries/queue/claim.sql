-- queue/claim.sql: ready jobs go under a lease; the claim counts an attempt (L6).
-- Guard  place: a job is claimed once.
-- In     1 ids as a JSON array, 2 token
-- Reply  nothing; as many rows changed as ids were given
-- Index  job's key; leaves job_ready or job_parked
UPDATE job SET place = 2, token = ?2, attempt = attempt + 1
WHERE id IN (SELECT value FROM json_each(?1)) AND place IN (0, 3)
