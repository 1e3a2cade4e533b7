-- queue/running.sql: what is known of a running job when it ends.
-- Guard  id, place and token: no row unless the job runs under this very lease.
-- In     1 id, 2 token
-- Reply  at most one row
-- Index  job's key
SELECT attempt, attempts_max, run_at, backoff_initial_ms, backoff_factor, backoff_max_ms, backoff_jitter
FROM job WHERE id = ?1 AND place = 2 AND token = ?2
