-- queue/tenant_drop.sql: a tenant of which nothing runs and nothing is spent is not kept.
-- In     1 queue, 2 key
-- Reply  nothing
-- Index  tenant's key
DELETE FROM tenant WHERE queue = ?1 AND key = ?2 AND running = 0 AND rate_spent = 0
