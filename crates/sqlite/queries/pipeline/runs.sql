-- pipeline/runs.sql: runs that match, newest first.
-- Guard  none.
-- In     1 pipeline or null, 2 status or null, 3 below which id, 4 how many
-- Reply  rows
-- Index  run's key
SELECT id, pipeline, version, input, status, paused, created_at, finished_at, key FROM run
 WHERE id < ?3 AND (?1 IS NULL OR pipeline = ?1) AND (?2 IS NULL OR status = ?2) ORDER BY id DESC LIMIT ?4
