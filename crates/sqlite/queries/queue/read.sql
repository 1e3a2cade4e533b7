-- ENGINE: the limit of the engine, and what runs in it (Q8).
-- In     nothing
-- Reply  one row
-- Index  tenure_engine's key; tenure_queue read whole
SELECT max_running, (SELECT coalesce(sum(running), 0) FROM tenure_queue) FROM tenure_engine WHERE only = 1

-- EVENTS: what is stored about a job, oldest first.
-- In     1 job
-- Reply  one row each
-- Index  tenure_event_job
SELECT at, what, token, owner, attempt, verb, lost, reason, until, error, count, first_at, by
FROM tenure_event
WHERE job = ?1 ORDER BY id

-- FINISHED: one job that has ended.
-- In     1 id
-- Reply  at most one row
-- Index  finished's and tenure_note's keys
SELECT f.id, f.queue, f.kind, f.payload, f.priority, f.created_at, f.run_at, f.attempt, f.attempts_max,
       f.backoff_initial_ms, f.backoff_factor, f.backoff_max_ms, f.backoff_jitter, f.timeout_ms, f.token, f.error,
       f.attempts, f.ordering_key, f.limit_key, f.status, f.reason, f.result, f.finished_at, n.progress, n.checkpoint,
       f.owner, f.claimed_at, f.outcome, f.verb, f.beats, f.last_beat_at, f.longest_gap_ms,
       f.error_is_last
FROM tenure_finished f
LEFT JOIN tenure_note n ON n.job = f.id
WHERE f.id = ?1

-- JOB: one job that is queued or running.
-- In     1 id
-- Reply  at most one row
-- Index  job's, lease's and tenure_note's keys
SELECT j.id, j.queue, j.kind, j.payload, j.priority, j.created_at, j.run_at, j.attempt, j.attempts_max,
       j.backoff_initial_ms, j.backoff_factor, j.backoff_max_ms, j.backoff_jitter, j.timeout_ms, j.token, j.error,
       j.attempts, j.ordering_key, j.limit_key, j.place, n.progress, n.checkpoint,
       l.owner, l.granted_at, l.expires_at, l.beats, l.last_beat_at, l.longest_gap_ms,
       j.cancel_requested, l.lease_ms
FROM tenure_job j
LEFT JOIN tenure_lease l ON j.place = 2 AND l.token = j.token
LEFT JOIN tenure_note n ON n.job = j.id
WHERE j.id = ?1

-- LANE_BLOCKED_BY: the job that a lane stopped for.
-- In     1 queue, 2 ordering_key
-- Reply  at most one row
-- Index  tenure_lane's key
SELECT blocked_by FROM tenure_lane WHERE queue = ?1 AND key = ?2

-- LANE_HEAD: the job of a lane with the smallest id, and whether the lane has stopped.
-- In     1 queue, 2 ordering_key
-- Reply  at most one row
-- Index  tenure_job_lane, tenure_lane's key
SELECT id, place, run_at, limit_key, EXISTS (SELECT 1 FROM tenure_lane WHERE tenure_lane.queue = ?1 AND tenure_lane.key = ?2)
FROM tenure_job INDEXED BY tenure_job_lane
WHERE queue = ?1 AND ordering_key = ?2 ORDER BY id LIMIT 1

-- LANE_TURN: the job of a lane that runs, or whose turn it is.
-- In     1 queue, 2 ordering_key
-- Reply  at most one row
-- Index  tenure_job_turn
SELECT id, place, limit_key FROM tenure_job INDEXED BY tenure_job_turn WHERE queue = ?1 AND ordering_key = ?2 AND place <> 4

-- LIST_COMPLETED: completed jobs of all queues, newest first.
-- In     1 below this id, 2 at most how many, 3 kind or NULL
-- Reply  id
-- Index  tenure_finished's key, from its end: nearly all of them are completed
SELECT id FROM tenure_finished WHERE id < ?1 AND +status = 'completed' AND (?3 IS NULL OR kind = ?3)
ORDER BY id DESC LIMIT ?2

-- LIST_FAILED: failed jobs of all queues, newest first.
-- In     1 below this id, 2 at most how many, 3 kind or NULL
-- Reply  id
-- Index  tenure_finished_failed, from its end
SELECT id FROM tenure_finished INDEXED BY tenure_finished_failed
WHERE id < ?1 AND status = 'failed' AND (?3 IS NULL OR kind = ?3)
ORDER BY id DESC LIMIT ?2

-- LIST_FINISHED: ended jobs of all queues, newest first.
-- In     1 below this id, 2 at most how many, 3 kind or NULL
-- Reply  id
-- Index  tenure_finished's key, from its end
SELECT id FROM tenure_finished WHERE id < ?1 AND (?3 IS NULL OR kind = ?3) ORDER BY id DESC LIMIT ?2

-- LIST_FINISHED_OF: jobs of one queue that ended one way, newest first.
-- In     1 below this id, 2 at most how many, 3 kind or NULL, 4 queue, 5 status
-- Reply  id
-- Index  tenure_finished_queue_status, from its end
SELECT id FROM tenure_finished
WHERE queue = ?4 AND status = ?5 AND id < ?1 AND (?3 IS NULL OR kind = ?3)
ORDER BY id DESC LIMIT ?2

-- LIST_RUNNING: running jobs, newest first. Found by their leases: they are few, and the oldest of many.
-- Guard  a lease whose list cannot be read is passed over; recovery reports it.
-- In     1 below this id, 2 at most how many, 3 kind or NULL, 4 queue or NULL
-- Reply  id
-- Index  tenure_lease read whole, then tenure_job's key
SELECT tenure_job.id
FROM tenure_lease CROSS JOIN json_each(tenure_lease.units) AS unit CROSS JOIN tenure_job ON tenure_job.id = unit.value
WHERE json_valid(tenure_lease.units) AND (?4 IS NULL OR tenure_lease.queue = ?4) AND unit.value < ?1
  AND tenure_job.place = 2 AND tenure_job.token = tenure_lease.token AND (?3 IS NULL OR tenure_job.kind = ?3)
ORDER BY tenure_job.id DESC LIMIT ?2

-- LIST_WAITING: queued and running jobs of all queues, newest first.
-- In     1 below this id, 2 at most how many, 3 queued or running only (place 2 or not), or NULL, 4 kind or NULL
-- Reply  id
-- Index  tenure_job's key, from its end
SELECT id FROM tenure_job
WHERE id < ?1 AND (?3 IS NULL OR (place = 2) = ?3) AND (?4 IS NULL OR kind = ?4)
ORDER BY id DESC LIMIT ?2

-- LIST_WAITING_OF: queued and running jobs of one queue, newest first.
-- In     1 below this id, 2 at most how many, 3 queued or running only (place 2 or not), or NULL, 4 kind or NULL, 5 queue
-- Reply  id
-- Index  tenure_job_queue, from its end
SELECT id FROM tenure_job
WHERE queue = ?5 AND id < ?1 AND (?3 IS NULL OR (place = 2) = ?3) AND (?4 IS NULL OR kind = ?4)
ORDER BY id DESC LIMIT ?2

-- QUEUE: what a queue holds. Counts stop just above their bound, so a long queue costs no more.
-- In     1 name, 2 the bound of a count plus one, 3 how many are running
-- Reply  one row: queued, completed, failed, created_at of the waiting job with the smallest id
-- Index  tenure_job_queue for what is queued or running, tenure_finished_queue_status
SELECT (SELECT count(*) FROM (SELECT 1 FROM tenure_job WHERE queue = ?1 LIMIT ?2 + ?3)) - ?3,
       (SELECT count(*) FROM (SELECT 1 FROM tenure_finished WHERE queue = ?1 AND status = 'completed' LIMIT ?2)),
       (SELECT count(*) FROM (SELECT 1 FROM tenure_finished WHERE queue = ?1 AND status = 'failed' LIMIT ?2)),
       (SELECT created_at FROM tenure_job INDEXED BY tenure_job_queue WHERE queue = ?1 AND place <> 2 ORDER BY id LIMIT 1)

-- QUEUES: names of queues, from after one.
-- In     1 after this name, or NULL, 2 at most how many
-- Reply  name
-- Index  tenure_queue's key
SELECT name FROM tenure_queue WHERE name > coalesce(?1, '') ORDER BY name LIMIT ?2
