-- queue/cancel_requested.sql: an operator asks the holder of a job to stop (L11).
-- Guard  place: only a running one.
-- In     1 id
-- Reply  nothing; one row
-- Index  job's key
UPDATE job SET cancel_requested = 1 WHERE id = ?1 AND place = 2
