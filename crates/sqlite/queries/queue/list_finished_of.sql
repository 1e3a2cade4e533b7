-- queue/list_finished_of.sql: jobs of one queue that ended one way, newest first.
-- In     1 below this id, 2 at most how many, 3 kind or NULL, 4 queue, 5 status
-- Reply  id
-- Index  finished_queue_status, from its end
SELECT id FROM finished
WHERE queue = ?4 AND status = ?5 AND id < ?1 AND (?3 IS NULL OR kind = ?3)
ORDER BY id DESC LIMIT ?2
