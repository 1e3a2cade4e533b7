-- queue/ready.sql: the first ready jobs of a queue, in the order of claims (Q2).
-- In     1 queue, 2 at most how many
-- Reply  priority, created_at, id
-- Index  job_ready, which covers it
SELECT priority, created_at, id FROM job
WHERE queue = ?1 AND place = 0
ORDER BY priority DESC, created_at, id LIMIT ?2
