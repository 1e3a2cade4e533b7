-- queue/place.sql: a waiting job waits elsewhere.
-- Guard  place: not a running one.
-- In     1 id, 2 place
-- Reply  nothing; one row
-- Index  job's key; moves to the index of its place
UPDATE job SET place = ?2 WHERE id = ?1 AND place <> 2
