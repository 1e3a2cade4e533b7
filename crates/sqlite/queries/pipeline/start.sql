-- pipeline/start.sql: a run begins.
-- Guard  none.
-- In     1 pipeline, 2 version, 3 input, 4 now
-- Reply  its id
-- Index  run's key
INSERT INTO run (pipeline, version, input, status, created_at) VALUES (?1, ?2, ?3, 'RUNNING', ?4) RETURNING id
