-- queue/lane_turn.sql: the job of a lane that runs, or whose turn it is.
-- In     1 queue, 2 ordering_key
-- Reply  at most one row
-- Index  job_turn
SELECT id, place, limit_key FROM job INDEXED BY job_turn WHERE queue = ?1 AND ordering_key = ?2 AND place <> 4
