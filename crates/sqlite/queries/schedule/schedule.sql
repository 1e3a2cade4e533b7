-- schedule/schedule.sql: one schedule.
-- In     1 name
-- Reply  its row
-- Index  schedule's key
SELECT name, revision, cron, zone, catch_up, paused, created_at, updated_at, next_at, last_slot, last_fired_at, last_job, fired,
       missed, missed_at, queue, kind, payload, priority, attempts_max, timeout_ms, ordering_key, limit_key,
       backoff_initial_ms, backoff_factor, backoff_max_ms, backoff_jitter
  FROM schedule WHERE name = ?1
