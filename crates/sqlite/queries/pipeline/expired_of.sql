-- pipeline/expired_of.sql: units of some stages whose lease ran out.
-- Guard  runs under the write lock.
-- In     1 now, 2 how many, 3 pipeline, 4 a JSON array of stages
-- Reply  their ids, the oldest deadline first
-- Index  unit_expires
SELECT id FROM unit
 WHERE status = 'RUNNING' AND stuck = 0 AND expires_at <= ?1 AND pipeline = ?3
   AND stage IN (SELECT value FROM json_each(?4))
 ORDER BY expires_at, token LIMIT ?2
