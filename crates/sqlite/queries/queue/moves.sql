-- HALT: jobs of a queue run no more.
-- In     1 name, 2 how many
-- Reply  one row: whether the queue is limited, whether the engine is, whether finished jobs are kept
-- Index  queue's and tenure_engine's keys
UPDATE tenure_queue SET running = running - ?2 WHERE name = ?1
RETURNING max_running IS NOT NULL, (SELECT max_running FROM tenure_engine WHERE only = 1) IS NOT NULL, retention_ms > 0

-- PARK_ALL: a tenant is at its limit: none of its jobs is ready.
-- In     1 queue, 2 limit_key
-- Reply  nothing
-- Index  tenure_job_shown
UPDATE tenure_job INDEXED BY tenure_job_shown SET place = 3 WHERE queue = ?1 AND limit_key = ?2 AND place = 0

-- PARK_OUTRANKED: ready jobs of a tenant that another of their kind comes before.
-- In     1 queue, 2 limit_key
-- Reply  nothing
-- Index  tenure_job_shown, and the first entry of tenure_job_parked for each
UPDATE tenure_job INDEXED BY tenure_job_shown SET place = 3
WHERE queue = ?1 AND limit_key = ?2 AND place = 0
  AND (SELECT -first.priority, first.created_at, first.id FROM tenure_job AS first
       WHERE first.queue = ?1 AND first.limit_key = ?2 AND first.kind = tenure_job.kind AND first.place = 3
       ORDER BY first.priority DESC, first.created_at, first.id LIMIT 1) < (-priority, created_at, id)

-- PLACE: a waiting job waits elsewhere.
-- Guard  place: not a running one.
-- In     1 id, 2 place
-- Reply  nothing; one row
-- Index  tenure_job's key; moves to the index of its place
UPDATE tenure_job SET place = ?2 WHERE id = ?1 AND place <> 2

-- SHOW: of each kind of a tenant, the first parked job is ready if none is.
-- In     1 queue, 2 limit_key
-- Reply  nothing; as many rows as became ready
-- Index  tenure_job_parked, by a seek for each kind; tenure_job_shown
WITH RECURSIVE pool (kind) AS (
    SELECT (SELECT kind FROM tenure_job WHERE queue = ?1 AND limit_key = ?2 AND place = 3 ORDER BY kind LIMIT 1)
    UNION ALL
    SELECT (SELECT kind FROM tenure_job WHERE queue = ?1 AND limit_key = ?2 AND place = 3 AND kind > pool.kind
            ORDER BY kind LIMIT 1)
    FROM pool WHERE pool.kind IS NOT NULL
)
UPDATE tenure_job SET place = 0
WHERE id IN (SELECT (SELECT id FROM tenure_job
                     WHERE queue = ?1 AND limit_key = ?2 AND kind = pool.kind AND place = 3
                     ORDER BY priority DESC, created_at, id LIMIT 1)
             FROM pool
             WHERE pool.kind IS NOT NULL
               AND NOT EXISTS (SELECT 1 FROM tenure_job INDEXED BY tenure_job_shown
                               WHERE queue = ?1 AND limit_key = ?2 AND kind = pool.kind AND place = 0))

-- TENANT_DROP: a tenant of which nothing runs and nothing is spent is not kept.
-- In     1 queue, 2 key
-- Reply  nothing
-- Index  tenure_tenant's key
DELETE FROM tenure_tenant WHERE queue = ?1 AND key = ?2 AND running = 0 AND rate_spent = 0

-- TENANT_HALT: jobs of a tenant run no more.
-- In     1 queue, 2 key, 3 how many
-- Reply  one row: how many still run, or no row where none was counted
-- Index  tenure_tenant's key
UPDATE tenure_tenant SET running = running - ?3 WHERE queue = ?1 AND key = ?2 RETURNING running
