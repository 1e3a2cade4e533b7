-- queue/workers.sql: names of workers, in order; a seek for each.
-- In     1 only names after this, or NULL; 2 at most how many
-- Reply  owner
-- Index  sighting's key
WITH RECURSIVE worker (name, nth) AS (
    SELECT (SELECT owner FROM sighting WHERE owner > coalesce(?1, '') ORDER BY owner LIMIT 1), 1
    UNION ALL
    SELECT (SELECT owner FROM sighting WHERE owner > worker.name ORDER BY owner LIMIT 1), nth + 1
    FROM worker WHERE worker.name IS NOT NULL AND nth < ?2
)
SELECT name FROM worker WHERE name IS NOT NULL
