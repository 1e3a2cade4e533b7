-- pipeline/forget_units.sql: its units.
-- Guard  none.
-- In     1 run
-- Reply  nothing
-- Index  unit's keys
DELETE FROM unit WHERE run = ?1
