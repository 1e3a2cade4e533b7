-- queue/tenant_halt.sql: jobs of a tenant run no more.
-- In     1 queue, 2 key, 3 how many
-- Reply  one row: how many still run, or no row where none was counted
-- Index  tenant's key
UPDATE tenant SET running = running - ?3 WHERE queue = ?1 AND key = ?2 RETURNING running
