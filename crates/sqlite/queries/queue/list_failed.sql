-- queue/list_failed.sql: failed jobs of all queues, newest first.
-- In     1 below this id, 2 at most how many, 3 kind or NULL
-- Reply  id
-- Index  finished_failed, from its end
SELECT id FROM finished INDEXED BY finished_failed
WHERE id < ?1 AND status = 'failed' AND (?3 IS NULL OR kind = ?3)
ORDER BY id DESC LIMIT ?2
