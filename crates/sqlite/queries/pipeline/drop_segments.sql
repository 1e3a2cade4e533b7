-- pipeline/drop_segments.sql: a stage that begins anew has no segments.
-- Guard  none.
-- In     1 run, 2 stage
-- Reply  nothing
-- Index  unit_segments
DELETE FROM unit WHERE run = ?1 AND stage = ?2 AND segment <> ''
