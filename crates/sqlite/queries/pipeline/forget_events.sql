-- pipeline/forget_events.sql: its events.
-- Guard  none.
-- In     1 run
-- Reply  nothing
-- Index  unit_event_run
DELETE FROM unit_event WHERE run = ?1
