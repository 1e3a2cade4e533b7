-- queue/run.sql: jobs of a queue were claimed: they run, and the rate is spent.
-- In     1 name, 2 how many, 3 rate_period, 4 rate_spent
-- Reply  nothing
-- Index  queue's key
UPDATE queue SET running = running + ?2, rate_period = ?3, rate_spent = ?4 WHERE name = ?1
