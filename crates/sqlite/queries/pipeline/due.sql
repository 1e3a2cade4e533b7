-- pipeline/due.sql: units that are to be tried again.
-- Guard  runs under the write lock.
-- In     1 now, 2 how many
-- Reply  their ids, the longest due first
-- Index  unit_retry
SELECT id FROM unit WHERE retry_at IS NOT NULL AND stuck = 0 AND retry_at <= ?1 ORDER BY retry_at, id LIMIT ?2
