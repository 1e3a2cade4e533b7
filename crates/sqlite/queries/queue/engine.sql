-- queue/engine.sql: the limit of the engine, and what runs in it (Q8).
-- In     nothing
-- Reply  one row
-- Index  engine's key; queue read whole
SELECT max_running, (SELECT coalesce(sum(running), 0) FROM queue) FROM engine WHERE only = 1
