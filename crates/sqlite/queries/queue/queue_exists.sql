-- queue/queue_exists.sql: whether a queue was ever used.
-- In     1 queue
-- Reply  a row, if it was
-- Index  queue's key
SELECT 1 FROM queue WHERE name = ?1
