-- queue/list_waiting.sql: queued and running jobs of all queues, newest first.
-- In     1 below this id, 2 at most how many, 3 queued or running only (place 2 or not), or NULL, 4 kind or NULL
-- Reply  id
-- Index  job's key, from its end
SELECT id FROM job
WHERE id < ?1 AND (?3 IS NULL OR (place = 2) = ?3) AND (?4 IS NULL OR kind = ?4)
ORDER BY id DESC LIMIT ?2
