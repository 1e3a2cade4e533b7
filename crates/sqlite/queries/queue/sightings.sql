-- queue/sightings.sql: where a worker was seen.
-- In     1 owner, 2 at most how many
-- Reply  queue, kinds as a JSON array or empty, first_seen_at, seen_at
-- Index  sighting's key
SELECT queue, kinds, first_seen_at, seen_at FROM sighting WHERE owner = ?1 ORDER BY queue, kinds LIMIT ?2
