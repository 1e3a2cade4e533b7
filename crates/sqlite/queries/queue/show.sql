-- queue/show.sql: of each kind of a tenant, the first parked job is ready if none is.
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
