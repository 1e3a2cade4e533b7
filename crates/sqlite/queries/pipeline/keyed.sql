-- pipeline/keyed.sql: the run that holds a key.
-- Guard  none.
-- In     1 pipeline, 2 key
-- Reply  one row or none
-- Index  run_key
SELECT id, pipeline, version, input, status, paused, created_at, finished_at, key FROM run
 WHERE pipeline = ?1 AND key = ?2
