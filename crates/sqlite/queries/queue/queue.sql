-- queue/queue.sql: one queue and what it holds. Counts stop just above their bound, so a long queue costs no more.
-- In     1 name, 2 the bound of a count plus one
-- Reply  at most one row: created_at, queued, running, completed, failed
-- Index  queue's key, job_ready, job_scheduled, lease_queue_expires, finished_queue_status
SELECT q.created_at,
       (SELECT count(*) FROM (SELECT 1 FROM job WHERE queue = q.name AND place = 0 LIMIT ?2))
           + (SELECT count(*) FROM (SELECT 1 FROM job WHERE queue = q.name AND place = 1 LIMIT ?2)),
       (SELECT coalesce(sum(left_count), 0) FROM (SELECT left_count FROM lease WHERE queue = q.name LIMIT ?2)),
       (SELECT count(*) FROM (SELECT 1 FROM finished WHERE queue = q.name AND status = 'completed' LIMIT ?2)),
       (SELECT count(*) FROM (SELECT 1 FROM finished WHERE queue = q.name AND status = 'failed' LIMIT ?2))
FROM queue q WHERE q.name = ?1
