-- pipeline/cancel_rest.sql: what waits of a cancelled run ends.
-- Guard  none; what was held has been ended before.
-- In     1 run, 2 now
-- Reply  nothing
-- Index  unit's keys
UPDATE unit SET status = 'ERROR', reason = 'cancelled', retry_at = NULL, changed_at = ?2
 WHERE run = ?1 AND (status IN ('NEW', 'READY') OR (status = 'ERROR' AND reason IS NULL))
