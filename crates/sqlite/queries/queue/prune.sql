-- PAST: finished jobs past the retention of their queue, oldest first in each.
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

-- PRUNE_KEYS: dedup keys past their window are removed, unless their job has not ended.
-- In     1 now, 2 at most how many
-- Reply  nothing; as many rows as went
-- Index  dedup_age, job's key
DELETE FROM dedup
WHERE (queue, key) IN (SELECT queue, key FROM dedup
                       WHERE until <= ?1 AND NOT EXISTS (SELECT 1 FROM job WHERE job.id = dedup.job)
                       ORDER BY until LIMIT ?2)

-- PRUNE_RECEIPTS: receipts past their hour are removed.
-- In     1 an hour ago, 2 at most how many
-- Reply  nothing; as many rows as went
-- Index  receipt_age
DELETE FROM receipt
WHERE (job, token) IN (SELECT job, token FROM receipt WHERE at <= ?1 ORDER BY at LIMIT ?2)

-- PRUNE_SIGHTINGS: workers that were not seen for a day are forgotten.
-- In     1 a day ago, 2 at most how many
-- Reply  nothing; as many rows changed as were forgotten
-- Index  sighting_age
DELETE FROM sighting
WHERE (owner, queue, kinds) IN (SELECT owner, queue, kinds FROM sighting WHERE seen_at <= ?1 ORDER BY seen_at LIMIT ?2)

-- PRUNE_TENANTS: tenants of which nothing runs, and whose spent rate is of a period that is over,
-- are removed.
-- In     1 the longest period ago, 2 at most how many
-- Reply  nothing
-- Index  tenant_idle
DELETE FROM tenant
WHERE (queue, key) IN (SELECT queue, key FROM tenant WHERE running = 0 AND claimed_at <= ?1
                       ORDER BY claimed_at LIMIT ?2)
