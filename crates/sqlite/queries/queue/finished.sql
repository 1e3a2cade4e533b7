-- queue/finished.sql: one job that has ended.
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
