-- queue/change.sql: an operator has changed how a queue behaves.
-- In     1 name, 2 paused, 3 max_running, 4 max_running_per_key, 5 lane_on_failure, 6 retention_ms, 7 rate_max,
--        8 rate_period_ms, 9 key_rate_max, 10 key_rate_period_ms
-- Reply  nothing
-- Index  queue's key
UPDATE queue
SET paused = ?2, max_running = ?3, max_running_per_key = ?4, lane_on_failure = ?5, retention_ms = ?6, rate_max = ?7,
    rate_period_ms = ?8, key_rate_max = ?9, key_rate_period_ms = ?10
WHERE name = ?1
