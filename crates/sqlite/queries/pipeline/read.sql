-- PIPELINE_ATTEMPTS: the last claims of a run that have ended.
-- Guard  none.
-- In     1 run, 2 how many
-- Reply  rows, newest first
-- Index  tenure_unit_attempt's key
SELECT run, token, stage, segment, owner, claimed_at, ended_at, outcome, verb, status, error, beats, last_beat_at,
       longest_gap_ms
  FROM tenure_unit_attempt WHERE run = ?1 ORDER BY token DESC LIMIT ?2

-- PIPELINE_DEFINITIONS: the highest version of each pipeline.
-- Guard  none.
-- In     1 from after which name, or null, 2 how many
-- Reply  rows by name
-- Index  tenure_pipeline's key
SELECT p.name, p.version, p.definition, p.created_at FROM tenure_pipeline p
 WHERE (?1 IS NULL OR p.name > ?1)
   AND p.version = (SELECT max(o.version) FROM tenure_pipeline o WHERE o.name = p.name)
 ORDER BY p.name LIMIT ?2

-- PIPELINE_EVENTS: the last events of a run.
-- Guard  none.
-- In     1 run, 2 how many
-- Reply  rows, newest first
-- Index  tenure_unit_event_run
SELECT run, at, stage, segment, what, token, owner, attempt, verb, lost, reason, until, error, count, first_at,
       by
  FROM tenure_unit_event WHERE run = ?1 ORDER BY id DESC LIMIT ?2

-- PIPELINE_RUNS: runs that match, newest first.
-- Guard  none.
-- In     1 pipeline or null, 2 status or null, 3 below which id, 4 how many
-- Reply  rows
-- Index  tenure_run's key
SELECT id, pipeline, version, input, status, paused, created_at, finished_at, key FROM tenure_run
 WHERE id < ?3 AND (?1 IS NULL OR pipeline = ?1) AND (?2 IS NULL OR status = ?2) ORDER BY id DESC LIMIT ?4

-- PIPELINE_SEGMENTS: segments of a stage, in the order of the split.
-- Guard  none.
-- In     1 run, 2 stage, 3 from after which number, 4 how many
-- Reply  rows
-- Index  tenure_unit_segments
SELECT * FROM tenure_unit_shown WHERE run = ?1 AND stage = ?2 AND segment <> '' AND id > ?3 ORDER BY id LIMIT ?4

-- PIPELINE_SEGMENT_COUNTS: how many segments of a stage stand where.
-- Guard  none.
-- In     1 run, 2 stage
-- Reply  status and count
-- Index  tenure_unit_segments
SELECT status, count(*) FROM tenure_unit WHERE run = ?1 AND stage = ?2 AND segment <> '' GROUP BY status

-- PIPELINE_STAGES: the stages of a run, in the order of its definition.
-- Guard  none.
-- In     1 run
-- Reply  rows
-- Index  tenure_unit_stages
SELECT * FROM tenure_unit_shown WHERE run = ?1 AND segment = '' ORDER BY id
