-- queue/prune_sightings.sql: workers that were not seen for a day are forgotten.
-- In     1 a day ago, 2 at most how many
-- Reply  nothing; as many rows changed as were forgotten
-- Index  sighting_age
DELETE FROM sighting
WHERE (owner, queue, kinds) IN (SELECT owner, queue, kinds FROM sighting WHERE seen_at <= ?1 ORDER BY seen_at LIMIT ?2)
