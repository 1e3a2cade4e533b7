-- queue/retry.sql: an operator puts a finished job back, with its attempts anew and the claim it ended with among the
-- ended ones (L9).
-- In     1 id, 2 now
-- Reply  queue, ordering_key, limit_key
-- Index  finished's key; writes job_queue and the index of its place
INSERT INTO job (id, queue, kind, priority, place, created_at, run_at, attempts_max, backoff_initial_ms, backoff_factor,
                 backoff_max_ms, backoff_jitter, timeout_ms, ordering_key, limit_key, token, error, attempts, payload)
SELECT id, queue, kind, priority,
       CASE WHEN ordering_key IS NOT NULL THEN 4 WHEN limit_key IS NOT NULL THEN 3 ELSE 0 END,
       created_at, ?2, attempts_max, backoff_initial_ms, backoff_factor,
       backoff_max_ms, backoff_jitter, timeout_ms, ordering_key, limit_key, token, error,
       CASE WHEN owner IS NULL THEN attempts
            ELSE json_insert(coalesce(attempts, '[]'), '$[#]',
                             json_object('token', token, 'owner', owner, 'claimed_at', claimed_at,
                                         'ended_at', finished_at, 'outcome', outcome, 'verb', verb,
                                         'error', CASE WHEN error_is_last THEN error END, 'beats', beats,
                                         'last_beat_at', last_beat_at, 'longest_gap_ms', longest_gap_ms)) END,
       payload
FROM finished WHERE id = ?1
RETURNING queue, ordering_key, limit_key
