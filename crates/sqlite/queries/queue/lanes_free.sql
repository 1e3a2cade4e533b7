-- queue/lanes_free.sql: the lanes of a queue go on.
-- In     1 queue
-- Reply  key of each
-- Index  lane's key
DELETE FROM lane WHERE queue = ?1 RETURNING key
