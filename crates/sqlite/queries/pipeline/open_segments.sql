-- pipeline/open_segments.sql: whether the READY segments of a stage are handed out.
-- Guard  none.
-- In     1 run, 2 stage, 3 open
-- Reply  nothing
-- Index  unit_undone
UPDATE unit SET open = ?3 WHERE run = ?1 AND stage = ?2 AND segment <> '' AND status <> 'DONE' AND status = 'READY'
