-- queue/stuck.sql: recovery could not read this lease or its jobs; it is left for a person.
-- In     1 token
-- Reply  nothing
-- Index  lease's key; leaves lease_expires
UPDATE lease SET stuck = 1 WHERE token = ?1
