-- queue/limit.sql: the limit of the engine (Q8).
-- In     nothing
-- Reply  one row
-- Index  engine's key
SELECT max_running FROM engine WHERE only = 1
