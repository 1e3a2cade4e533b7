-- CHANGE: an operator has changed how a queue behaves.
-- In     1 name, 2 paused, 3 max_running, 4 max_running_per_key, 5 lane_on_failure, 6 retention_ms, 7 rate_max,
--        8 rate_period_ms, 9 key_rate_max, 10 key_rate_period_ms
-- Reply  nothing
-- Index  tenure_queue's key
UPDATE tenure_queue
SET paused = ?2, max_running = ?3, max_running_per_key = ?4, lane_on_failure = ?5, retention_ms = ?6, rate_max = ?7,
    rate_period_ms = ?8, key_rate_max = ?9, key_rate_period_ms = ?10
WHERE name = ?1

-- LANES_FREE: the lanes of a queue go on.
-- In     1 queue
-- Reply  key of each
-- Index  tenure_lane's key
DELETE FROM tenure_lane WHERE queue = ?1 RETURNING key

-- LIMIT: the limit of the engine (Q8).
-- In     nothing
-- Reply  one row
-- Index  tenure_engine's key
SELECT max_running FROM tenure_engine WHERE only = 1

-- SET_LIMIT: an operator has set the limit of the engine.
-- In     1 max_running
-- Reply  nothing
-- Index  tenure_engine's key
UPDATE tenure_engine SET max_running = ?1 WHERE only = 1

-- TENANTS_MOVED: tenants that a new limit opens or closes.
-- In     1 queue, 2 the limit before, 3 the limit now; 0 is none
-- Reply  key, running
-- Index  tenure_tenant's key
SELECT key, running FROM tenure_tenant
WHERE queue = ?1 AND running > 0 AND (?2 > 0 AND running >= ?2) <> (?3 > 0 AND running >= ?3)
