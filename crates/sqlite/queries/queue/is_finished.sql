-- queue/is_finished.sql: whether a job has ended and is kept.
-- In     1 id
-- Reply  one row: 0 or 1
-- Index  finished's key
SELECT EXISTS (SELECT 1 FROM finished WHERE id = ?1)
