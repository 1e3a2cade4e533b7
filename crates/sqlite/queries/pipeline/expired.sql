-- pipeline/expired.sql: units whose lease ran out.
-- Guard  runs under the write lock.
-- In     1 now, 2 how many
-- Reply  their ids, the oldest deadline first
-- Index  unit_expires
SELECT id FROM unit WHERE status = 'RUNNING' AND stuck = 0 AND expires_at <= ?1 ORDER BY expires_at, token LIMIT ?2
