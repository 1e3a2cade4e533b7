-- DROP_LEASE: the last job of a lease has ended.
-- In     1 token
-- Reply  nothing
-- Index  tenure_lease's key
DELETE FROM tenure_lease WHERE token = ?1

-- EXPIRED: leases that ran out, oldest deadline first.
-- Guard  leases that recovery could not read before are passed over.
-- In     1 now, 2 at most how many
-- Reply  token
-- Index  tenure_lease_expires
SELECT token FROM tenure_lease WHERE stuck = 0 AND expires_at <= ?1 ORDER BY expires_at, token LIMIT ?2

-- EXPIRED_OF: leases of one queue that ran out, oldest deadline first.
-- Guard  leases that recovery could not read before are passed over.
-- In     1 now, 2 at most how many, 3 queue
-- Reply  token
-- Index  tenure_lease_queue_expires
SELECT token FROM tenure_lease WHERE queue = ?3 AND expires_at <= ?1 AND stuck = 0 ORDER BY expires_at, token LIMIT ?2

-- HELD_UNITS: jobs that still run under a lease, in the order of its grant.
-- In     1 token
-- Reply  place in the grant from 0, id
-- Index  tenure_lease's key, tenure_job's key
SELECT unit.key, unit.value
FROM tenure_lease CROSS JOIN json_each(tenure_lease.units) AS unit CROSS JOIN tenure_job ON tenure_job.id = unit.value
WHERE tenure_lease.token = ?1 AND tenure_job.place = 2 AND tenure_job.token = ?1
ORDER BY unit.key

-- STUCK: recovery could not read this lease or its jobs; it is left for a person.
-- In     1 token
-- Reply  nothing
-- Index  tenure_lease's key; leaves tenure_lease_expires
UPDATE tenure_lease SET stuck = 1 WHERE token = ?1
