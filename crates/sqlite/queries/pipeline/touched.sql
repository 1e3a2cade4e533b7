-- pipeline/touched.sql: runs to look at.
-- Guard  none.
-- In     1 how many
-- Reply  their ids, oldest first
-- Index  run_touched's key
SELECT run FROM run_touched ORDER BY run LIMIT ?1
