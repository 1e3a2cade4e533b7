-- queue/park_outranked.sql: ready jobs of a tenant that another of their kind comes before.
-- In     1 queue, 2 limit_key
-- Reply  nothing
-- Index  job_shown, and the first entry of job_parked for each
UPDATE job INDEXED BY job_shown SET place = 3
WHERE queue = ?1 AND limit_key = ?2 AND place = 0
  AND (SELECT -first.priority, first.created_at, first.id FROM job AS first
       WHERE first.queue = ?1 AND first.limit_key = ?2 AND first.kind = job.kind AND first.place = 3
       ORDER BY first.priority DESC, first.created_at, first.id LIMIT 1) < (-priority, created_at, id)
