-- pipeline/touched.sql: runs to look at.
-- Guard  none.
-- In     1 how many
-- Reply  their ids, those whose news is oldest first
-- Index  run_touched_waiting
SELECT run FROM run_touched WHERE stuck = 0 ORDER BY id LIMIT ?1
