-- EVENTS: what is stored about a job, oldest first.
-- In     1 job
-- Reply  one row each
-- Index  event_job
SELECT at, what, token, owner, attempt, verb, lost, reason, until, error, count, first_at, by
FROM event
WHERE job = ?1 ORDER BY id

-- FINISHED: one job that has ended.
-- In     1 id
-- Reply  at most one row
-- Index  finished's and note's keys
SELECT f.id, f.queue, f.kind, f.payload, f.priority, f.created_at, f.run_at, f.attempt, f.attempts_max,
       f.backoff_initial_ms, f.backoff_factor, f.backoff_max_ms, f.backoff_jitter, f.timeout_ms, f.token, f.error,
       f.attempts, f.ordering_key, f.limit_key, f.status, f.reason, f.result, f.finished_at, n.progress, n.checkpoint,
       f.owner, f.claimed_at, f.outcome, f.verb, f.beats, f.last_beat_at, f.longest_gap_ms,
       f.error_is_last
FROM finished f
LEFT JOIN note n ON n.job = f.id
WHERE f.id = ?1

-- JOB: one job that is queued or running.
-- In     1 id
-- Reply  at most one row
-- Index  job's, lease's and note's keys
SELECT j.id, j.queue, j.kind, j.payload, j.priority, j.created_at, j.run_at, j.attempt, j.attempts_max,
       j.backoff_initial_ms, j.backoff_factor, j.backoff_max_ms, j.backoff_jitter, j.timeout_ms, j.token, j.error,
       j.attempts, j.ordering_key, j.limit_key, j.place, n.progress, n.checkpoint,
       l.owner, l.granted_at, l.expires_at, l.beats, l.last_beat_at, l.longest_gap_ms,
       j.cancel_requested, l.lease_ms
FROM job j
LEFT JOIN lease l ON j.place = 2 AND l.token = j.token
LEFT JOIN note n ON n.job = j.id
WHERE j.id = ?1
