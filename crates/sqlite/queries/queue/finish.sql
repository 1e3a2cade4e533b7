-- queue/finish.sql: a running job ends for good and becomes history.
-- Guard  id, place and token; the caller has judged owner and expiry under the same write lock.
-- In     1 id, 2 token, 3 status, 4 reason, 5 owner, 6 claimed_at, 7 finished_at, 8 outcome, 9 verb, 10 beats,
--        11 last_beat_at, 12 longest_gap_ms, 13 error, 14 result
-- Reply  nothing; one row, or the caller answers LeaseLost
-- Index  job's key; writes finished_queue_status and finished_age
INSERT INTO finished (id, queue, kind, priority, status, reason, created_at, run_at, attempt, attempts_max,
                      backoff_initial_ms, backoff_factor, backoff_max_ms, backoff_jitter, timeout_ms, ordering_key,
                      limit_key, token, owner, claimed_at, finished_at, outcome, verb, beats, last_beat_at,
                      longest_gap_ms, error, error_is_last, result, attempts, payload)
SELECT id, queue, kind, priority, ?3, ?4, created_at, run_at, attempt, attempts_max,
       backoff_initial_ms, backoff_factor, backoff_max_ms, backoff_jitter, timeout_ms, ordering_key,
       limit_key, token, ?5, ?6, ?7, ?8, ?9, ?10, ?11,
       ?12, coalesce(?13, error), ?13 IS NOT NULL, ?14, attempts, payload
FROM job WHERE id = ?1 AND place = 2 AND token = ?2
