-- pipeline/open_run.sql: what is READY of a resumed run is handed out, except segments of stages that failed for good.
-- Guard  none.
-- In     1 run
-- Reply  nothing
-- Index  unit's keys
UPDATE unit SET open = 1 WHERE run = ?1 AND status = 'READY'
   AND (segment = '' OR stage NOT IN (SELECT s.stage FROM unit s WHERE s.run = ?1 AND s.segment = '' AND s.reason IS NOT NULL))
