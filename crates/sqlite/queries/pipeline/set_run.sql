-- pipeline/set_run.sql: where a run stands.
-- Guard  none; the run was read in this transaction.
-- In     1 id, 2 status, 3 paused, 4 finished_at
-- Reply  nothing
-- Index  run's key
UPDATE run SET status = ?2, paused = ?3, finished_at = ?4 WHERE id = ?1
