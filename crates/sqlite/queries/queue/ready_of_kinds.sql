-- queue/ready_of_kinds.sql: the same, for a worker that knows only some kinds.
-- In     1 queue, 2 at most how many, 3 kinds as a JSON array
-- Reply  priority, created_at, id
-- Index  job_ready for the order; the kind is read from the row
SELECT priority, created_at, id FROM job
WHERE queue = ?1 AND place = 0 AND kind IN (SELECT value FROM json_each(?3))
ORDER BY priority DESC, created_at, id LIMIT ?2
