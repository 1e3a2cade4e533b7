-- queue/see.sql: a claim is a sighting, new or written again.
-- In     1 owner, 2 queue, 3 kinds as a JSON array or empty, 4 now
-- Reply  nothing
-- Index  sighting's key
INSERT INTO sighting (owner, queue, kinds, first_seen_at, seen_at) VALUES (?1, ?2, ?3, ?4, ?4)
ON CONFLICT (owner, queue, kinds) DO UPDATE SET seen_at = excluded.seen_at
