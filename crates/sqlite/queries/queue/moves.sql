-- HALT: jobs of a queue run no more.
-- In     1 name, 2 how many
-- Reply  one row: whether the queue is limited, whether the engine is, whether finished jobs are kept
-- Index  queue's and engine's keys
UPDATE queue SET running = running - ?2 WHERE name = ?1
RETURNING max_running IS NOT NULL, (SELECT max_running FROM engine WHERE only = 1) IS NOT NULL, retention_ms > 0

-- PARK_ALL: a tenant is at its limit: none of its jobs is ready.
-- In     1 queue, 2 limit_key
-- Reply  nothing
-- Index  job_shown
UPDATE job INDEXED BY job_shown SET place = 3 WHERE queue = ?1 AND limit_key = ?2 AND place = 0

-- PARK_OUTRANKED: ready jobs of a tenant that another of their kind comes before.
-- In     1 queue, 2 limit_key
-- Reply  nothing
-- Index  job_shown, and the first entry of job_parked for each
UPDATE job INDEXED BY job_shown SET place = 3
WHERE queue = ?1 AND limit_key = ?2 AND place = 0
  AND (SELECT -first.priority, first.created_at, first.id FROM job AS first
       WHERE first.queue = ?1 AND first.limit_key = ?2 AND first.kind = job.kind AND first.place = 3
       ORDER BY first.priority DESC, first.created_at, first.id LIMIT 1) < (-priority, created_at, id)

-- PLACE: a waiting job waits elsewhere.
-- Guard  place: not a running one.
-- In     1 id, 2 place
-- Reply  nothing; one row
-- Index  job's key; moves to the index of its place
UPDATE job SET place = ?2 WHERE id = ?1 AND place <> 2

-- SHOW: of each kind of a tenant, the first parked job is ready if none is.
-- In     1 queue, 2 limit_key
-- Reply  nothing; as many rows as became ready
-- Index  job_parked, by a seek for each kind; job_shown
WITH RECURSIVE pool (kind) AS (
    SELECT (SELECT kind FROM job WHERE queue = ?1 AND limit_key = ?2 AND place = 3 ORDER BY kind LIMIT 1)
    UNION ALL
    SELECT (SELECT kind FROM job WHERE queue = ?1 AND limit_key = ?2 AND place = 3 AND kind > pool.kind
            ORDER BY kind LIMIT 1)
    FROM pool WHERE pool.kind IS NOT NULL
)
UPDATE job SET place = 0
WHERE id IN (SELECT (SELECT id FROM job
                     WHERE queue = ?1 AND limit_key = ?2 AND kind = pool.kind AND place = 3
                     ORDER BY priority DESC, created_at, id LIMIT 1)
             FROM pool
             WHERE pool.kind IS NOT NULL
               AND NOT EXISTS (SELECT 1 FROM job INDEXED BY job_shown
                               WHERE queue = ?1 AND limit_key = ?2 AND kind = pool.kind AND place = 0))

-- TENANT_DROP: a tenant of which nothing runs and nothing is spent is not kept.
-- In     1 queue, 2 key
-- Reply  nothing
-- Index  tenant's key
DELETE FROM tenant WHERE queue = ?1 AND key = ?2 AND running = 0 AND rate_spent = 0

-- TENANT_HALT: jobs of a tenant run no more.
-- In     1 queue, 2 key, 3 how many
-- Reply  one row: how many still run, or no row where none was counted
-- Index  tenant's key
UPDATE tenant SET running = running - ?3 WHERE queue = ?1 AND key = ?2 RETURNING running
