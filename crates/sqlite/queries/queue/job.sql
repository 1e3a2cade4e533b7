-- queue/job.sql: one job that is queued or running.
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
