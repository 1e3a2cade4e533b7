-- queue/prune_tenants.sql: tenants of which nothing runs, and whose spent rate is of a period that is over,
-- are removed.
-- In     1 the longest period ago, 2 at most how many
-- Reply  nothing
-- Index  tenant_idle
DELETE FROM tenant
WHERE (queue, key) IN (SELECT queue, key FROM tenant WHERE running = 0 AND claimed_at <= ?1
                       ORDER BY claimed_at LIMIT ?2)
