-- queue/blocking.sql: whether a lane stopped for this job.
-- In     1 id
-- Reply  a row if it did
-- Index  finished's and lane's keys
SELECT 1 FROM finished AS f CROSS JOIN lane ON lane.queue = f.queue AND lane.key = f.ordering_key
WHERE f.id = ?1 AND lane.blocked_by = f.id
