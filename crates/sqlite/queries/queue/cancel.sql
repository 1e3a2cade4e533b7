-- queue/cancel.sql: a waiting job is cancelled and becomes history.
-- Guard  place: not a running one.
-- In     1 id, 2 now
-- Reply  nothing; one row
-- Index  job's key; writes finished_queue_status, finished_failed and finished_age
INSERT INTO finished (id, queue, kind, priority, status, reason, created_at, run_at, attempt, attempts_max,
                      backoff_initial_ms, backoff_factor, backoff_max_ms, backoff_jitter, timeout_ms, ordering_key,
                      limit_key, token, finished_at, error, attempts, payload)
SELECT id, queue, kind, priority, 'failed', 'cancelled', created_at, run_at, attempt, attempts_max,
       backoff_initial_ms, backoff_factor, backoff_max_ms, backoff_jitter, timeout_ms, ordering_key,
       limit_key, token, ?2, error, attempts, payload
FROM job WHERE id = ?1 AND place <> 2
