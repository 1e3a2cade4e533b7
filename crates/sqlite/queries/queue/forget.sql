-- queue/forget.sql: finished jobs are removed.
-- In     1 ids as a JSON array
-- Reply  nothing
-- Index  finished's key
DELETE FROM finished WHERE id IN (SELECT value FROM json_each(?1))
