-- queue/park_all.sql: a tenant is at its limit: none of its jobs is ready.
-- In     1 queue, 2 limit_key
-- Reply  nothing
-- Index  job_shown
UPDATE job INDEXED BY job_shown SET place = 3 WHERE queue = ?1 AND limit_key = ?2 AND place = 0
