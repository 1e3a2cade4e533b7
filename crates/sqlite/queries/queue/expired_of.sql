-- queue/expired_of.sql: leases of one queue that ran out, oldest deadline first.
-- Guard  leases that recovery could not read before are passed over.
-- In     1 now, 2 at most how many, 3 queue
-- Reply  token
-- Index  lease_queue_expires
SELECT token FROM lease WHERE queue = ?3 AND expires_at <= ?1 AND stuck = 0 ORDER BY expires_at, token LIMIT ?2
