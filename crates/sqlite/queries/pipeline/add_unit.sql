-- pipeline/add_unit.sql: a stage of a run that begins, or a segment of one that is split.
-- Guard  none.
-- In     1 run, 2 pipeline, 3 stage, 4 segment, 5 needs, 6 priority, 7 lease_ms, 8 attempts_max, 9 backoff,
--        10 segmented, 11 status, 12 input, 13 open, 14 now
-- Reply  nothing
-- Index  unit's keys
INSERT INTO unit (run, pipeline, stage, segment, needs, priority, lease_ms, attempts_max, backoff, segmented, status,
                  input, open, changed_at)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
