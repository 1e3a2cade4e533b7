-- queue/see_no_more.sql: of the sightings of a queue only the newest stay.
-- In     1 queue, 2 how many stay
-- Reply  nothing
-- Index  sighting_queue
DELETE FROM sighting
WHERE (owner, queue, kinds) IN
    (SELECT owner, queue, kinds FROM sighting WHERE queue = ?1 ORDER BY seen_at DESC, owner LIMIT -1 OFFSET ?2)
