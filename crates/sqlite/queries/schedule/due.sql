-- schedule/due.sql: schedules that are due, the longest first.
-- In     1 now, 2 at most how many
-- Reply  what a scheduler needs of each
-- Index  schedule_due
SELECT name, revision, cron, zone, catch_up, next_at, octet_length(payload) FROM schedule
 WHERE paused = 0 AND next_at IS NOT NULL AND next_at <= ?1
 ORDER BY next_at, name LIMIT ?2
