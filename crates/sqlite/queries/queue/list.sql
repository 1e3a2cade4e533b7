-- LIST_COMPLETED: completed jobs of all queues, newest first.
-- In     1 below this id, 2 at most how many, 3 kind or NULL
-- Reply  id
-- Index  finished's key, from its end: nearly all of them are completed
SELECT id FROM finished WHERE id < ?1 AND +status = 'completed' AND (?3 IS NULL OR kind = ?3)
ORDER BY id DESC LIMIT ?2

-- LIST_FAILED: failed jobs of all queues, newest first.
-- In     1 below this id, 2 at most how many, 3 kind or NULL
-- Reply  id
-- Index  finished_failed, from its end
SELECT id FROM finished INDEXED BY finished_failed
WHERE id < ?1 AND status = 'failed' AND (?3 IS NULL OR kind = ?3)
ORDER BY id DESC LIMIT ?2

-- LIST_FINISHED: ended jobs of all queues, newest first.
-- In     1 below this id, 2 at most how many, 3 kind or NULL
-- Reply  id
-- Index  finished's key, from its end
SELECT id FROM finished WHERE id < ?1 AND (?3 IS NULL OR kind = ?3) ORDER BY id DESC LIMIT ?2

-- LIST_FINISHED_OF: jobs of one queue that ended one way, newest first.
-- In     1 below this id, 2 at most how many, 3 kind or NULL, 4 queue, 5 status
-- Reply  id
-- Index  finished_queue_status, from its end
SELECT id FROM finished
WHERE queue = ?4 AND status = ?5 AND id < ?1 AND (?3 IS NULL OR kind = ?3)
ORDER BY id DESC LIMIT ?2

-- LIST_RUNNING: running jobs, newest first. Found by their leases: they are few, and the oldest of many.
-- Guard  a lease whose list cannot be read is passed over; recovery reports it.
-- In     1 below this id, 2 at most how many, 3 kind or NULL, 4 queue or NULL
-- Reply  id
-- Index  lease read whole, then job's key
SELECT job.id
FROM lease CROSS JOIN json_each(lease.units) AS unit CROSS JOIN job ON job.id = unit.value
WHERE json_valid(lease.units) AND (?4 IS NULL OR lease.queue = ?4) AND unit.value < ?1
  AND job.place = 2 AND job.token = lease.token AND (?3 IS NULL OR job.kind = ?3)
ORDER BY job.id DESC LIMIT ?2

-- LIST_WAITING: queued and running jobs of all queues, newest first.
-- In     1 below this id, 2 at most how many, 3 queued or running only (place 2 or not), or NULL, 4 kind or NULL
-- Reply  id
-- Index  job's key, from its end
SELECT id FROM job
WHERE id < ?1 AND (?3 IS NULL OR (place = 2) = ?3) AND (?4 IS NULL OR kind = ?4)
ORDER BY id DESC LIMIT ?2

-- LIST_WAITING_OF: queued and running jobs of one queue, newest first.
-- In     1 below this id, 2 at most how many, 3 queued or running only (place 2 or not), or NULL, 4 kind or NULL, 5 queue
-- Reply  id
-- Index  job_queue, from its end
SELECT id FROM job
WHERE queue = ?5 AND id < ?1 AND (?3 IS NULL OR (place = 2) = ?3) AND (?4 IS NULL OR kind = ?4)
ORDER BY id DESC LIMIT ?2

-- QUEUE: what a queue holds. Counts stop just above their bound, so a long queue costs no more.
-- In     1 name, 2 the bound of a count plus one, 3 how many are running
-- Reply  one row: queued, completed, failed, created_at of the waiting job with the smallest id
-- Index  job_queue for what is queued or running, finished_queue_status
SELECT (SELECT count(*) FROM (SELECT 1 FROM job WHERE queue = ?1 LIMIT ?2 + ?3)) - ?3,
       (SELECT count(*) FROM (SELECT 1 FROM finished WHERE queue = ?1 AND status = 'completed' LIMIT ?2)),
       (SELECT count(*) FROM (SELECT 1 FROM finished WHERE queue = ?1 AND status = 'failed' LIMIT ?2)),
       (SELECT created_at FROM job INDEXED BY job_queue WHERE queue = ?1 AND place <> 2 ORDER BY id LIMIT 1)

-- QUEUES: names of queues, from after one.
-- In     1 after this name, or NULL, 2 at most how many
-- Reply  name
-- Index  queue's key
SELECT name FROM queue WHERE name > coalesce(?1, '') ORDER BY name LIMIT ?2
