-- LEASE: one lease.
-- In     1 token
-- Reply  at most one row
-- Index  tenure_lease's key
SELECT owner, queue, json_array_length(units) AS units, started, left_count, lease_ms, granted_at, expires_at, beats,
       last_beat_at, longest_gap_ms, ends_at, keyed, cancels
FROM tenure_lease WHERE token = ?1

-- RUNNING: what is known of a running job when it ends. A hundred ended claims are longer than 8 KiB, so
-- that most are not counted.
-- Guard  id, place and token: no row unless the job runs under this very lease.
-- In     1 id, 2 token, 3 ended claims to keep at most
-- Reply  at most one row
-- Index  tenure_job's key
SELECT attempt, attempts_max, run_at, backoff_initial_ms, backoff_factor, backoff_max_ms, backoff_jitter,
       cancel_requested, timeout_ms, ordering_key, limit_key,
       octet_length(attempts) >= 8192 AND json_valid(attempts) AND json_array_length(attempts) >= ?3 AS crowded
FROM tenure_job WHERE id = ?1 AND place = 2 AND token = ?2

-- SHRINK_LEASE: some jobs of a lease have ended.
-- In     1 token, 2 how many are left
-- Reply  nothing
-- Index  tenure_lease's key
UPDATE tenure_lease SET left_count = ?2 WHERE token = ?1
