-- SCHEDULE: one schedule.
-- In     1 name
-- Reply  its row
-- Index  tenure_schedule's key
SELECT * FROM tenure_schedule_shown WHERE name = ?1

-- SCHEDULES: schedules by name, from after one.
-- In     1 after this name, or NULL, 2 at most how many
-- Reply  one row each, as schedule/schedule.sql
-- Index  tenure_schedule's key
SELECT * FROM tenure_schedule_shown WHERE name > coalesce(?1, '') ORDER BY name LIMIT ?2

-- SCHEDULE_DUE: schedules that are due, the longest first.
-- In     1 now, 2 at most how many
-- Reply  what a scheduler needs of each
-- Index  tenure_schedule_due
SELECT name, revision, cron, zone, catch_up, next_at, octet_length(payload) FROM tenure_schedule
 WHERE paused = 0 AND next_at IS NOT NULL AND next_at <= ?1
 ORDER BY next_at, name LIMIT ?2

-- SCHEDULE_FIRINGS: the last firings of a schedule, newest first.
-- In     1 schedule, 2 below this slot, 3 at most how many
-- Reply  slot, fired_at, job
-- Index  tenure_firing's key
SELECT slot, fired_at, job FROM tenure_firing WHERE schedule = ?1 AND slot < ?2 ORDER BY slot DESC LIMIT ?3

-- SCHEDULE_NEXT: the first slot to come.
-- In     1 now
-- Reply  next_at
-- Index  tenure_schedule_due
SELECT next_at FROM tenure_schedule
 WHERE paused = 0 AND next_at IS NOT NULL AND next_at > ?1
 ORDER BY next_at, name LIMIT 1
