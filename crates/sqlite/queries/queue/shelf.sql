-- SETTINGS: how a queue behaves, and what runs in it.
-- In     1 name
-- Reply  at most one row
-- Index  tenure_queue's key
SELECT created_at, running, paused, max_running, max_running_per_key, lane_on_failure, retention_ms, rate_max,
       rate_period_ms, key_rate_max, key_rate_period_ms, rate_period, rate_spent
FROM tenure_queue WHERE name = ?1
