-- queue/next_of_pool.sql: what follows a ready job within its tenant and kind, in the order of claims.
-- In     1 id of the ready one, 2 at most how many, 3 how many were read before
-- Reply  priority, created_at, id
-- Index  job's key, job_parked
SELECT next.priority, next.created_at, next.id
FROM job AS head CROSS JOIN job AS next
     ON next.queue = head.queue AND next.limit_key = head.limit_key AND next.kind = head.kind AND next.place = 3
WHERE head.id = ?1
ORDER BY next.priority DESC, next.created_at, next.id LIMIT ?2 OFFSET ?3
