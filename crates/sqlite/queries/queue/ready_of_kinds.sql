-- queue/ready_of_kinds.sql: the same, for a worker that knows only some kinds.
-- In     1 queue, 2 kinds as a JSON array
-- Reply  priority, created_at, id, limit_key
-- Index  job_ready for the order; the kind is read from the row
SELECT priority, created_at, id, limit_key FROM job
WHERE queue = ?1 AND place = 0 AND kind IN (SELECT value FROM json_each(?2))
ORDER BY priority DESC, created_at, id
