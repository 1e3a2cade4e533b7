-- pipeline/knows_stage.sql: whether some version of a pipeline has a stage.
-- Guard  none.
-- In     1 pipeline, 2 stage
-- Reply  one row: 0 or 1
-- Index  pipeline_stage's key
SELECT EXISTS (SELECT 1 FROM pipeline_stage WHERE pipeline = ?1 AND stage = ?2)
