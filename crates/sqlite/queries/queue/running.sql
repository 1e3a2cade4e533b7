-- queue/running.sql: what is known of a running job when it ends. A hundred ended claims are longer than 8 KiB, so
-- that most are not counted.
-- Guard  id, place and token: no row unless the job runs under this very lease.
-- In     1 id, 2 token, 3 ended claims to keep at most
-- Reply  at most one row
-- Index  job's key
SELECT attempt, attempts_max, run_at, backoff_initial_ms, backoff_factor, backoff_max_ms, backoff_jitter,
       cancel_requested, timeout_ms, ordering_key, limit_key,
       octet_length(attempts) >= 8192 AND json_valid(attempts) AND json_array_length(attempts) >= ?3 AS crowded
FROM job WHERE id = ?1 AND place = 2 AND token = ?2
