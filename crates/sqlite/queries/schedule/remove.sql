-- schedule/remove.sql: a schedule that is no longer wanted.
-- In     1 name
-- Reply  nothing; changes tell whether it was there
-- Index  schedule's key
DELETE FROM schedule WHERE name = ?1
