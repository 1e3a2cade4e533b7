-- TENANT: what runs for a tenant, and what is spent of its rate.
-- In     1 queue, 2 key
-- Reply  at most one row
-- Index  tenure_tenant's key
SELECT running, rate_period, rate_spent FROM tenure_tenant WHERE queue = ?1 AND key = ?2
