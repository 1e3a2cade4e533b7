-- queue/oldest.sql: when the oldest waiting job of a queue was enqueued.
-- The ready index is ordered by priority first, so the oldest of each priority is looked up and the next priority is
-- found by a seek: the cost is that of the priorities in use, not of the jobs.
-- In     1 queue
-- Reply  one row: the instant, or NULL
-- Index  job_ready, job_scheduled_age
WITH RECURSIVE level (priority) AS (
    SELECT (SELECT priority FROM job WHERE queue = ?1 AND place = 0 ORDER BY priority DESC LIMIT 1)
    UNION ALL
    SELECT (SELECT priority FROM job WHERE queue = ?1 AND place = 0 AND priority < level.priority
            ORDER BY priority DESC LIMIT 1)
    FROM level WHERE level.priority IS NOT NULL
)
SELECT min(at) FROM (
    SELECT (SELECT created_at FROM job WHERE queue = ?1 AND place = 0 AND priority = level.priority
            ORDER BY created_at LIMIT 1) AS at
    FROM level WHERE level.priority IS NOT NULL
    UNION ALL
    SELECT (SELECT created_at FROM job WHERE queue = ?1 AND place = 1 ORDER BY created_at LIMIT 1)
)
