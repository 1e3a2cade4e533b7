-- queue/tenant_set.sql: the same, after a claim.
-- In     1 queue, 2 key, 3 running, 4 rate_period, 5 rate_spent, 6 now
-- Reply  nothing
-- Index  tenant's key
INSERT INTO tenant (queue, key, running, rate_period, rate_spent, claimed_at) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (queue, key) DO UPDATE SET running = excluded.running, rate_period = excluded.rate_period,
                                       rate_spent = excluded.rate_spent, claimed_at = excluded.claimed_at
