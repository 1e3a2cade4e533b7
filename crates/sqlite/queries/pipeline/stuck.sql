-- pipeline/stuck.sql: recovery or the orchestrator could not read this unit or what belongs to it; it is left for a person.
-- Guard  none.
-- In     1 id
-- Reply  nothing
-- Index  unit's key; leaves unit_expires and unit_retry
UPDATE unit SET stuck = 1 WHERE id = ?1
