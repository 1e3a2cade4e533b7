-- queue/halt.sql: jobs of a queue run no more.
-- In     1 name, 2 how many
-- Reply  one row: whether the queue is limited, whether the engine is, whether finished jobs are kept
-- Index  queue's and engine's keys
UPDATE queue SET running = running - ?2 WHERE name = ?1
RETURNING max_running IS NOT NULL, (SELECT max_running FROM engine WHERE only = 1) IS NOT NULL, retention_ms > 0
