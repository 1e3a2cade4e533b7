-- queue/lane_free.sql: the job that a lane stopped for is tried again.
-- In     1 queue, 2 ordering_key, 3 job
-- Reply  nothing
-- Index  lane's key
DELETE FROM lane WHERE queue = ?1 AND key = ?2 AND blocked_by = ?3
