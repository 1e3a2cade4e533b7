-- pipeline/forget_attempts.sql: its claims.
-- Guard  none.
-- In     1 run
-- Reply  nothing
-- Index  unit_attempt's key
DELETE FROM unit_attempt WHERE run = ?1
