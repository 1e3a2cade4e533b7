-- PIPELINE_CANCEL_REST: what waits of a cancelled run ends.
-- Guard  none; what was held has been ended before.
-- In     1 run, 2 now
-- Reply  nothing
-- Index  tenure_unit's keys
UPDATE tenure_unit SET status = 'ERROR', reason = 'cancelled', retry_at = NULL, changed_at = ?2
 WHERE run = ?1 AND (status IN ('NEW', 'READY') OR (status = 'ERROR' AND reason IS NULL))

-- PIPELINE_CLOSE_RUN: nothing of a paused run is handed out.
-- Guard  none.
-- In     1 run
-- Reply  nothing
-- Index  tenure_unit's keys
UPDATE tenure_unit SET open = 0 WHERE run = ?1 AND status = 'READY'

-- PIPELINE_DROP_SEGMENTS: a stage that begins anew has no segments.
-- Guard  none.
-- In     1 run, 2 stage
-- Reply  nothing
-- Index  tenure_unit_segments
DELETE FROM tenure_unit WHERE run = ?1 AND stage = ?2 AND segment <> ''

-- PIPELINE_HELD_OF_RUN: units of a run that are held.
-- Guard  runs under the write lock.
-- In     1 run
-- Reply  rows by number
-- Index  tenure_unit's keys
SELECT * FROM tenure_unit_shown WHERE run = ?1 AND status = 'RUNNING' ORDER BY id

-- PIPELINE_OPEN_RUN: what is READY of a resumed run is handed out, except segments of stages that failed for good.
-- Guard  none.
-- In     1 run
-- Reply  nothing
-- Index  tenure_unit's keys
UPDATE tenure_unit SET open = 1 WHERE run = ?1 AND status = 'READY'
   AND (segment = '' OR stage NOT IN (SELECT s.stage FROM tenure_unit s WHERE s.run = ?1 AND s.segment = '' AND s.reason IS NOT NULL))

-- PIPELINE_RETRY_SEGMENTS: the segments of a stage that went wrong begin anew.
-- Guard  none.
-- In     1 run, 2 stage, 3 now, 4 open
-- Reply  nothing
-- Index  tenure_unit_undone
UPDATE tenure_unit SET status = 'READY', reason = NULL, retry_at = NULL, attempt = 0, output = NULL, error = NULL,
       progress = NULL, open = ?4, changed_at = ?3
 WHERE run = ?1 AND stage = ?2 AND segment <> '' AND status <> 'DONE' AND status = 'ERROR'

-- PIPELINE_SET_RUN: where a run stands.
-- Guard  none; the run was read in this transaction.
-- In     1 id, 2 status, 3 paused, 4 finished_at
-- Reply  nothing
-- Index  tenure_run's key
UPDATE tenure_run SET status = ?2, paused = ?3, finished_at = ?4 WHERE id = ?1
