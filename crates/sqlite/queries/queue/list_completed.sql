-- queue/list_completed.sql: completed jobs of all queues, newest first.
-- In     1 below this id, 2 at most how many, 3 kind or NULL
-- Reply  id
-- Index  finished's key, from its end: nearly all of them are completed
SELECT id FROM finished WHERE id < ?1 AND +status = 'completed' AND (?3 IS NULL OR kind = ?3)
ORDER BY id DESC LIMIT ?2
