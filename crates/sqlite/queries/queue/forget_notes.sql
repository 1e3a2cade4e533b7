-- queue/forget_notes.sql: the notes of jobs that are being removed.
-- In     1 ids as a JSON array
-- Reply  nothing
-- Index  note's key
DELETE FROM note WHERE job IN (SELECT value FROM json_each(?1))
