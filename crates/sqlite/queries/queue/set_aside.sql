-- queue/set_aside.sql: a claim could not read this job; it is left for a person.
-- Guard  place: only what a claim could have taken.
-- In     1 id
-- Reply  its tenant, if it has one
-- Index  job's key; leaves job_ready or job_parked
UPDATE job SET place = 5 WHERE id = ?1 AND place IN (0, 3) RETURNING queue, limit_key
