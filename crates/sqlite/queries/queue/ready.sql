-- queue/ready.sql: ready jobs of a queue, in the order of claims (Q2). The caller stops when it has enough.
-- In     1 queue
-- Reply  priority, created_at, id, limit_key
-- Index  job_ready, which covers it
SELECT priority, created_at, id, limit_key FROM job
WHERE queue = ?1 AND place = 0
ORDER BY priority DESC, created_at, id
