-- pipeline/past.sql: settled runs that are no longer kept.
-- Guard  none.
-- In     1 settled before, 2 how many
-- Reply  their ids, the longest settled first
-- Index  run_age
SELECT id FROM run WHERE finished_at IS NOT NULL AND finished_at <= ?1 ORDER BY finished_at, id LIMIT ?2
