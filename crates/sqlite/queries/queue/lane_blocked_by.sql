-- queue/lane_blocked_by.sql: the job that a lane stopped for.
-- In     1 queue, 2 ordering_key
-- Reply  at most one row
-- Index  lane's key
SELECT blocked_by FROM lane WHERE queue = ?1 AND key = ?2
