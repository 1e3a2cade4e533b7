-- PIPELINE_APPLY: a version of a pipeline.
-- Guard  none; the version was looked for before.
-- In     1 name, 2 version, 3 definition, 4 now
-- Reply  nothing
-- Index  tenure_pipeline's key
INSERT INTO tenure_pipeline (name, version, definition, created_at) VALUES (?1, ?2, ?3, ?4)

-- PIPELINE_APPLY_STAGE: a stage that some version of a pipeline has.
-- Guard  none.
-- In     1 pipeline, 2 stage
-- Reply  nothing
-- Index  tenure_pipeline_stage's key
INSERT OR IGNORE INTO tenure_pipeline_stage (pipeline, stage) VALUES (?1, ?2)

-- PIPELINE_DEFINITION: a version of a pipeline, the highest unless named.
-- Guard  none.
-- In     1 name, 2 version or null
-- Reply  one row or none
-- Index  tenure_pipeline's key
SELECT name, version, definition, created_at FROM tenure_pipeline
 WHERE name = ?1 AND (?2 IS NULL OR version = ?2) ORDER BY version DESC LIMIT 1

-- PIPELINE_DUE: units that are to be tried again.
-- Guard  runs under the write lock.
-- In     1 now, 2 how many
-- Reply  their ids, the longest due first
-- Index  tenure_unit_retry
SELECT id FROM tenure_unit WHERE retry_at IS NOT NULL AND stuck = 0 AND retry_at <= ?1 ORDER BY retry_at, id LIMIT ?2

-- PIPELINE_FORGET_ATTEMPTS: its claims.
-- Guard  none.
-- In     1 run
-- Reply  nothing
-- Index  tenure_unit_attempt's key
DELETE FROM tenure_unit_attempt WHERE run = ?1

-- PIPELINE_FORGET_EVENTS: its events.
-- Guard  none.
-- In     1 run
-- Reply  nothing
-- Index  tenure_unit_event_run
DELETE FROM tenure_unit_event WHERE run = ?1

-- PIPELINE_FORGET_RUN: a run that is no longer kept.
-- Guard  none.
-- In     1 run
-- Reply  nothing
-- Index  tenure_run's key
DELETE FROM tenure_run WHERE id = ?1

-- PIPELINE_FORGET_UNITS: its units.
-- Guard  none.
-- In     1 run
-- Reply  nothing
-- Index  tenure_unit's keys
DELETE FROM tenure_unit WHERE run = ?1

-- PIPELINE_KEYED: the run that holds a key.
-- Guard  none.
-- In     1 pipeline, 2 key
-- Reply  one row or none
-- Index  tenure_run_key
SELECT id, pipeline, version, input, status, paused, created_at, finished_at, key FROM tenure_run
 WHERE pipeline = ?1 AND key = ?2

-- PIPELINE_MOVABLE_SEGMENTS: whether a segment of a stage can still move by itself.
-- Guard  none.
-- In     1 run, 2 stage, 3 whether the stage has failed for good
-- Reply  one row: 0 or 1
-- Index  tenure_unit_undone
SELECT EXISTS (SELECT 1 FROM tenure_unit WHERE run = ?1 AND stage = ?2 AND segment <> '' AND status <> 'DONE'
                 AND (status = 'RUNNING' OR (?3 = 0 AND (status = 'READY' OR (status = 'ERROR' AND reason IS NULL)))))

-- PIPELINE_NEXT_DUE: when the next unit is to be tried again.
-- Guard  none.
-- In     nothing
-- Reply  one row: an instant or null
-- Index  tenure_unit_retry
SELECT min(retry_at) FROM tenure_unit WHERE retry_at IS NOT NULL AND stuck = 0

-- PIPELINE_PAST: settled runs that are no longer kept.
-- Guard  none.
-- In     1 settled before, 2 how many
-- Reply  their ids, the longest settled first
-- Index  tenure_run_age
SELECT id FROM tenure_run WHERE finished_at IS NOT NULL AND finished_at <= ?1 ORDER BY finished_at, id LIMIT ?2

-- PIPELINE_RUN_STUCK: the orchestrator could not read this run; it is left for a person.
-- Guard  none.
-- In     1 run
-- Reply  nothing
-- Index  tenure_run_touched's index on run; leaves tenure_run_touched_waiting
INSERT INTO tenure_run_touched (run, stuck) VALUES (?1, 1) ON CONFLICT (run) DO UPDATE SET stuck = 1

-- PIPELINE_START: a run begins.
-- Guard  none.
-- In     1 pipeline, 2 version, 3 input, 4 now, 5 key or null
-- Reply  its id
-- Index  tenure_run's key
INSERT INTO tenure_run (pipeline, version, input, status, created_at, key) VALUES (?1, ?2, ?3, 'RUNNING', ?4, ?5) RETURNING id

-- PIPELINE_TOUCHED: runs to look at.
-- Guard  none.
-- In     1 how many
-- Reply  their ids, those whose news is oldest first
-- Index  tenure_run_touched_waiting
SELECT run FROM tenure_run_touched WHERE stuck = 0 ORDER BY id LIMIT ?1

-- PIPELINE_UNDONE: whether a segment of a stage is not DONE yet.
-- Guard  none.
-- In     1 run, 2 stage
-- Reply  one row: 0 or 1
-- Index  tenure_unit_undone
SELECT EXISTS (SELECT 1 FROM tenure_unit WHERE run = ?1 AND stage = ?2 AND segment <> '' AND status <> 'DONE')

-- PIPELINE_UNTOUCH: a run has been looked at.
-- Guard  none.
-- In     1 run
-- Reply  nothing
-- Index  tenure_run_touched's index on run
DELETE FROM tenure_run_touched WHERE run = ?1
