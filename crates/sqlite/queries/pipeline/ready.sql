-- pipeline/ready.sql: units of a stage that may be claimed, in their order.
-- Guard  runs under the write lock; what could not be read is left out.
-- In     1 pipeline, 2 stage, 3 how many
-- Reply  priority, id
-- Index  unit_ready
SELECT priority, id FROM unit
 WHERE pipeline = ?1 AND stage = ?2 AND status = 'READY' AND open = 1 AND stuck = 0 ORDER BY priority DESC, id LIMIT ?3
