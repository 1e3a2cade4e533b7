-- ALL_HOLDERS: a few of those who hold jobs of any queue.
-- In     1 how many
-- Reply  owner, by name
-- Index  none: no more than 10,000 leases are looked at
SELECT DISTINCT owner FROM (SELECT owner FROM tenure_lease LIMIT 10000) ORDER BY owner LIMIT ?1

-- HELD_BY: how many jobs each owner holds.
-- In     1 at most how many leases are looked at
-- Reply  owner, jobs, leases
-- Index  none: leases are few, and no more than ?1 are read
SELECT owner, sum(left_count), count(*) FROM (SELECT owner, left_count FROM tenure_lease LIMIT ?1) GROUP BY owner

-- HOLDERS: a few of those who hold jobs of a queue.
-- In     1 queue, 2 how many
-- Reply  owner, by name
-- Index  tenure_lease_queue_expires; no more than 10,000 leases are looked at
SELECT DISTINCT owner FROM (SELECT owner FROM tenure_lease WHERE queue = ?1 LIMIT 10000) ORDER BY owner LIMIT ?2

-- QUEUE_EXISTS: whether a queue was ever used.
-- In     1 queue
-- Reply  a row, if it was
-- Index  tenure_queue's key
SELECT 1 FROM tenure_queue WHERE name = ?1

-- SEE: a claim is a sighting, new or written again.
-- In     1 owner, 2 queue, 3 kinds as a JSON array or empty, 4 now
-- Reply  nothing
-- Index  tenure_sighting's key
INSERT INTO tenure_sighting (owner, queue, kinds, first_seen_at, seen_at) VALUES (?1, ?2, ?3, ?4, ?4)
ON CONFLICT (owner, queue, kinds) DO UPDATE SET seen_at = excluded.seen_at

-- SEEN: when a worker was last seen in a queue, looking for some kinds.
-- In     1 owner, 2 queue, 3 kinds as a JSON array or empty
-- Reply  one row, if it is remembered
-- Index  tenure_sighting's key
SELECT seen_at FROM tenure_sighting WHERE owner = ?1 AND queue = ?2 AND kinds = ?3

-- SEEN_LAST: who was last seen in a queue.
-- In     1 queue
-- Reply  at most one row
-- Index  tenure_sighting_queue
SELECT owner, seen_at FROM tenure_sighting WHERE queue = ?1 ORDER BY seen_at DESC, owner LIMIT 1

-- SEEN_LATELY: who looked for work in a queue lately.
-- In     1 queue, 2 since when, 3 at most how many
-- Reply  owner, kinds as a JSON array or empty; the newest first
-- Index  tenure_sighting_queue
SELECT owner, kinds FROM tenure_sighting WHERE queue = ?1 AND seen_at > ?2 ORDER BY seen_at DESC, owner LIMIT ?3

-- SEE_NO_MORE: of the sightings of a queue only the newest stay.
-- In     1 queue, 2 how many stay
-- Reply  nothing
-- Index  tenure_sighting_queue
DELETE FROM tenure_sighting
WHERE (owner, queue, kinds) IN
    (SELECT owner, queue, kinds FROM tenure_sighting WHERE queue = ?1 ORDER BY seen_at DESC, owner LIMIT -1 OFFSET ?2)

-- SIGHTINGS: where a worker was seen.
-- In     1 owner, 2 at most how many
-- Reply  queue, kinds as a JSON array or empty, first_seen_at, seen_at
-- Index  tenure_sighting's key
SELECT queue, kinds, first_seen_at, seen_at FROM tenure_sighting WHERE owner = ?1 ORDER BY queue, kinds LIMIT ?2

-- WORKERS: names of workers, in order; a seek for each.
-- In     1 only names after this, or NULL; 2 at most how many
-- Reply  owner
-- Index  tenure_sighting's key
WITH RECURSIVE worker (name, nth) AS (
    SELECT (SELECT owner FROM tenure_sighting WHERE owner > coalesce(?1, '') ORDER BY owner LIMIT 1), 1
    UNION ALL
    SELECT (SELECT owner FROM tenure_sighting WHERE owner > worker.name ORDER BY owner LIMIT 1), nth + 1
    FROM worker WHERE worker.name IS NOT NULL AND nth < ?2
)
SELECT name FROM worker WHERE name IS NOT NULL
