-- store/unstick_units.sql: units that could not be read are tried again after a restart, as leases are.
-- In     nothing
-- Reply  nothing
-- Index  unit_stuck
UPDATE unit SET stuck = 0 WHERE stuck = 1
