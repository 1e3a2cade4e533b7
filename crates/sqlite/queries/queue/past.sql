-- queue/past.sql: finished jobs past the retention of their queue, oldest first in each.
-- Guard  a job that its lane stopped for stays.
-- In     1 now, 2 at most how many
-- Reply  id
-- Index  finished_age, for each queue
SELECT f.id
FROM queue AS q CROSS JOIN finished AS f INDEXED BY finished_age
     ON f.queue = q.name AND f.finished_at <= ?1 - q.retention_ms * 1000
WHERE NOT EXISTS (SELECT 1 FROM lane
                  WHERE lane.queue = f.queue AND lane.key = f.ordering_key AND lane.blocked_by = f.id)
LIMIT ?2
