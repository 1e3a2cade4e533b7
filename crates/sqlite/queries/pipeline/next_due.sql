-- pipeline/next_due.sql: when the next unit is to be tried again.
-- Guard  none.
-- In     nothing
-- Reply  one row: an instant or null
-- Index  unit_retry
SELECT min(retry_at) FROM unit WHERE retry_at IS NOT NULL AND stuck = 0
