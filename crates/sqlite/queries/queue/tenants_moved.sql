-- queue/tenants_moved.sql: tenants that a new limit opens or closes.
-- In     1 queue, 2 the limit before, 3 the limit now; 0 is none
-- Reply  key, running
-- Index  tenant's key
SELECT key, running FROM tenant
WHERE queue = ?1 AND running > 0 AND (?2 > 0 AND running >= ?2) <> (?3 > 0 AND running >= ?3)
