-- pipeline/apply_stage.sql: a stage that some version of a pipeline has.
-- Guard  none.
-- In     1 pipeline, 2 stage
-- Reply  nothing
-- Index  pipeline_stage's key
INSERT OR IGNORE INTO pipeline_stage (pipeline, stage) VALUES (?1, ?2)
