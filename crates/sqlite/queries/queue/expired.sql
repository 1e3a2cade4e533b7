-- queue/expired.sql: leases that ran out, oldest deadline first.
-- Guard  leases that recovery could not read before are passed over.
-- In     1 now, 2 at most how many
-- Reply  token
-- Index  lease_expires
SELECT token FROM lease WHERE stuck = 0 AND expires_at <= ?1 ORDER BY expires_at, token LIMIT ?2
