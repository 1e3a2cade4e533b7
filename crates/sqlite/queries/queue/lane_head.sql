-- queue/lane_head.sql: the job of a lane with the smallest id, and whether the lane has stopped.
-- In     1 queue, 2 ordering_key
-- Reply  at most one row
-- Index  job_lane, lane's key
SELECT id, place, run_at, limit_key, EXISTS (SELECT 1 FROM lane WHERE lane.queue = ?1 AND lane.key = ?2)
FROM job INDEXED BY job_lane
WHERE queue = ?1 AND ordering_key = ?2 ORDER BY id LIMIT 1
