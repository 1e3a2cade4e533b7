-- ENGINE: the limit of the engine, and what runs in it (Q8).
-- In     nothing
-- Reply  one row
-- Index  engine's key; queue read whole
SELECT max_running, (SELECT coalesce(sum(running), 0) FROM queue) FROM engine WHERE only = 1

-- LANE_BLOCKED_BY: the job that a lane stopped for.
-- In     1 queue, 2 ordering_key
-- Reply  at most one row
-- Index  lane's key
SELECT blocked_by FROM lane WHERE queue = ?1 AND key = ?2

-- LANE_HEAD: the job of a lane with the smallest id, and whether the lane has stopped.
-- In     1 queue, 2 ordering_key
-- Reply  at most one row
-- Index  job_lane, lane's key
SELECT id, place, run_at, limit_key, EXISTS (SELECT 1 FROM lane WHERE lane.queue = ?1 AND lane.key = ?2)
FROM job INDEXED BY job_lane
WHERE queue = ?1 AND ordering_key = ?2 ORDER BY id LIMIT 1

-- LANE_TURN: the job of a lane that runs, or whose turn it is.
-- In     1 queue, 2 ordering_key
-- Reply  at most one row
-- Index  job_turn
SELECT id, place, limit_key FROM job INDEXED BY job_turn WHERE queue = ?1 AND ordering_key = ?2 AND place <> 4
