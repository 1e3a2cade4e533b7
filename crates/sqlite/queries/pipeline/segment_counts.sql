-- pipeline/segment_counts.sql: how many segments of a stage stand where.
-- Guard  none.
-- In     1 run, 2 stage
-- Reply  status and count
-- Index  unit_segments
SELECT status, count(*) FROM unit WHERE run = ?1 AND stage = ?2 AND segment <> '' GROUP BY status
