-- queue/list_waiting_of.sql: queued and running jobs of one queue, newest first.
-- In     1 below this id, 2 at most how many, 3 queued or running only (place 2 or not), or NULL, 4 kind or NULL, 5 queue
-- Reply  id
-- Index  job_queue, from its end
SELECT id FROM job
WHERE queue = ?5 AND id < ?1 AND (?3 IS NULL OR (place = 2) = ?3) AND (?4 IS NULL OR kind = ?4)
ORDER BY id DESC LIMIT ?2
