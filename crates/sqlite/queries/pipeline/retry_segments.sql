-- pipeline/retry_segments.sql: the segments of a stage that went wrong begin anew.
-- Guard  none.
-- In     1 run, 2 stage, 3 now, 4 open
-- Reply  nothing
-- Index  unit_undone
UPDATE unit SET status = 'READY', reason = NULL, retry_at = NULL, attempt = 0, output = NULL, error = NULL,
       progress = NULL, open = ?4, changed_at = ?3
 WHERE run = ?1 AND stage = ?2 AND segment <> '' AND status <> 'DONE' AND status = 'ERROR'
