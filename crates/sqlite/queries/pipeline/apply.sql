-- pipeline/apply.sql: a version of a pipeline.
-- Guard  none; the version was looked for before.
-- In     1 name, 2 version, 3 definition, 4 now
-- Reply  nothing
-- Index  pipeline's key
INSERT INTO pipeline (name, version, definition, created_at) VALUES (?1, ?2, ?3, ?4)
