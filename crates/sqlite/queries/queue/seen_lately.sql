-- queue/seen_lately.sql: who looked for work in a queue lately.
-- In     1 queue, 2 since when, 3 at most how many
-- Reply  owner, kinds as a JSON array or empty; the newest first
-- Index  sighting_queue
SELECT owner, kinds FROM sighting WHERE queue = ?1 AND seen_at > ?2 ORDER BY seen_at DESC, owner LIMIT ?3
