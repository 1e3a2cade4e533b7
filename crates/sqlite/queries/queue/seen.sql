-- queue/seen.sql: when a worker was last seen in a queue, looking for some kinds.
-- In     1 owner, 2 queue, 3 kinds as a JSON array or empty
-- Reply  one row, if it is remembered
-- Index  sighting's key
SELECT seen_at FROM sighting WHERE owner = ?1 AND queue = ?2 AND kinds = ?3
