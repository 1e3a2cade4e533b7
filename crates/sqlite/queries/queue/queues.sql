-- queue/queues.sql: names of queues, from after one.
-- In     1 after this name, or NULL, 2 at most how many
-- Reply  name
-- Index  queue's key
SELECT name FROM queue WHERE name > coalesce(?1, '') ORDER BY name LIMIT ?2
