-- queue/seen_last.sql: who was last seen in a queue.
-- In     1 queue
-- Reply  at most one row
-- Index  sighting_queue
SELECT owner, seen_at FROM sighting WHERE queue = ?1 ORDER BY seen_at DESC, owner LIMIT 1
