-- queue/list_finished.sql: ended jobs of all queues, newest first.
-- In     1 below this id, 2 at most how many, 3 kind or NULL
-- Reply  id
-- Index  finished's key, from its end
SELECT id FROM finished WHERE id < ?1 AND (?3 IS NULL OR kind = ?3) ORDER BY id DESC LIMIT ?2
