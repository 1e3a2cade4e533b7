-- pipeline/start.sql: a run begins.
-- Guard  none.
-- In     1 pipeline, 2 version, 3 input, 4 now, 5 key or null
-- Reply  its id
-- Index  run's key
INSERT INTO run (pipeline, version, input, status, created_at, key) VALUES (?1, ?2, ?3, 'RUNNING', ?4, ?5) RETURNING id
