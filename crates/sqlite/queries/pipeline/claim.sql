-- PIPELINE_ADD_UNIT: a stage of a run that begins, or a segment of one that is split.
-- Guard  none.
-- In     1 run, 2 pipeline, 3 stage, 4 segment, 5 needs, 6 priority, 7 lease_ms, 8 attempts_max, 9 backoff,
--        10 segmented, 11 status, 12 input, 13 open, 14 now
-- Reply  nothing
-- Index  tenure_unit's keys
INSERT INTO tenure_unit (run, pipeline, stage, segment, needs, priority, lease_ms, attempts_max, backoff, segmented, status,
                  input, open, changed_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)

-- PIPELINE_EXPIRED: units whose lease ran out.
-- Guard  runs under the write lock.
-- In     1 now, 2 how many
-- Reply  their ids, the oldest deadline first
-- Index  tenure_unit_expires
SELECT id FROM tenure_unit WHERE status = 'RUNNING' AND stuck = 0 AND expires_at <= ?1 ORDER BY expires_at, token LIMIT ?2

-- PIPELINE_EXPIRED_OF: units of some stages whose lease ran out.
-- Guard  runs under the write lock.
-- In     1 now, 2 how many, 3 pipeline, 4 a JSON array of stages
-- Reply  their ids, the oldest deadline first
-- Index  tenure_unit_expires
SELECT id FROM tenure_unit
 WHERE status = 'RUNNING' AND stuck = 0 AND expires_at <= ?1 AND pipeline = ?3
   AND stage IN (SELECT value FROM json_each(?4))
 ORDER BY expires_at, token LIMIT ?2

-- PIPELINE_KNOWS_STAGE: whether some version of a pipeline has a stage.
-- Guard  none.
-- In     1 pipeline, 2 stage
-- Reply  one row: 0 or 1
-- Index  tenure_pipeline_stage's key
SELECT EXISTS (SELECT 1 FROM tenure_pipeline_stage WHERE pipeline = ?1 AND stage = ?2)

-- PIPELINE_READY: units of a stage that may be claimed, in their order.
-- Guard  runs under the write lock; what could not be read is left out.
-- In     1 pipeline, 2 stage, 3 how many
-- Reply  priority, id
-- Index  tenure_unit_ready
SELECT priority, id FROM tenure_unit
 WHERE pipeline = ?1 AND stage = ?2 AND status = 'READY' AND open = 1 AND stuck = 0 ORDER BY priority DESC, id LIMIT ?3
