-- queue/set_limit.sql: an operator has set the limit of the engine.
-- In     1 max_running
-- Reply  nothing
-- Index  engine's key
UPDATE engine SET max_running = ?1 WHERE only = 1
