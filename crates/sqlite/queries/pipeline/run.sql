-- pipeline/run.sql: one run.
-- Guard  none.
-- In     1 id
-- Reply  one row or none
-- Index  run's key
SELECT id, pipeline, version, input, status, paused, created_at, finished_at, key FROM run WHERE id = ?1
