-- queue/lane_block.sql: a lane stops for a job that failed for good.
-- In     1 queue, 2 ordering_key, 3 job
-- Reply  nothing
-- Index  lane's key
INSERT INTO lane (queue, key, blocked_by) VALUES (?1, ?2, ?3)
ON CONFLICT (queue, key) DO UPDATE SET blocked_by = excluded.blocked_by
