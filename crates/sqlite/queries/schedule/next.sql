-- schedule/next.sql: the first slot to come.
-- In     1 now
-- Reply  next_at
-- Index  schedule_due
SELECT next_at FROM schedule
 WHERE paused = 0 AND next_at IS NOT NULL AND next_at > ?1
 ORDER BY next_at, name LIMIT 1
