-- schedule/schedules.sql: schedules by name, from after one.
-- In     1 after this name, or NULL, 2 at most how many
-- Reply  one row each, as schedule/schedule.sql
-- Index  schedule's key
SELECT name, revision, cron, zone, catch_up, paused, created_at, updated_at, next_at, last_slot, last_fired_at, last_job, fired,
       missed, missed_at, queue, kind, payload, priority, attempts_max, timeout_ms, ordering_key, limit_key,
       backoff_initial_ms, backoff_factor, backoff_max_ms, backoff_jitter
  FROM schedule WHERE name > coalesce(?1, '') ORDER BY name LIMIT ?2
