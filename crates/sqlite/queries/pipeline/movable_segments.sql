-- pipeline/movable_segments.sql: whether a segment of a stage can still move by itself.
-- Guard  none.
-- In     1 run, 2 stage, 3 whether the stage has failed for good
-- Reply  one row: 0 or 1
-- Index  unit_undone
SELECT EXISTS (SELECT 1 FROM unit WHERE run = ?1 AND stage = ?2 AND segment <> '' AND status <> 'DONE'
                 AND (status = 'RUNNING' OR (?3 = 0 AND (status = 'READY' OR (status = 'ERROR' AND reason IS NULL)))))
