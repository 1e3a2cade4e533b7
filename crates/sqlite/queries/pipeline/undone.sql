-- pipeline/undone.sql: whether a segment of a stage is not DONE yet.
-- Guard  none.
-- In     1 run, 2 stage
-- Reply  one row: 0 or 1
-- Index  unit_undone
SELECT EXISTS (SELECT 1 FROM unit WHERE run = ?1 AND stage = ?2 AND segment <> '' AND status <> 'DONE')
