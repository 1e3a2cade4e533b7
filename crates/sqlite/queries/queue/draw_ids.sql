-- queue/draw_ids.sql: the numbers of new jobs, from the one counter that never goes back.
-- Guard  none; runs under the write lock.
-- In     1 how many
-- Reply  one row: the last number drawn
-- Index  meta's key
UPDATE meta SET last_id = last_id + ?1 WHERE only = 1 RETURNING last_id
