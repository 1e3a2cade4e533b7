-- schedule/forget_firings.sql: the firings of a schedule that was removed.
-- In     1 schedule
-- Reply  nothing
-- Index  firing's key
DELETE FROM firing WHERE schedule = ?1
