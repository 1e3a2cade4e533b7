-- COMPLETE_MANY: running jobs of one lease are completed and become history. The hot path of queue/finish.sql.
-- Guard  id, place and token; the caller has judged owner and expiry under the same write lock. A job with so many
--        ended claims that the first may have to go (a hundred of them are longer than that) is taken by itself.
-- In     1 ids as a JSON array, each once, 2 token, 3 owner, 4 claimed_at, 5 finished_at, 6 beats, 7 last_beat_at,
--        8 longest_gap_ms
-- Reply  nothing; as many rows as ids were given, or the caller takes them one by one
-- Index  tenure_job's key; writes tenure_finished_queue_status and tenure_finished_age
INSERT INTO tenure_finished (id, queue, kind, priority, status, created_at, run_at, attempt, attempts_max,
                      backoff_initial_ms, backoff_factor, backoff_max_ms, backoff_jitter, timeout_ms, ordering_key,
                      limit_key, token, owner, claimed_at, finished_at, outcome, verb, beats, last_beat_at,
                      longest_gap_ms, error, attempts, payload)
SELECT tenure_job.id, queue, kind, priority, 'completed', created_at, run_at, attempt, attempts_max,
       backoff_initial_ms, backoff_factor, backoff_max_ms, backoff_jitter, timeout_ms, ordering_key,
       limit_key, token, ?3, ?4, ?5, 'completed', 'complete', ?6, ?7,
       ?8, error, attempts, payload
FROM json_each(?1) AS done CROSS JOIN tenure_job ON tenure_job.id = done.value
WHERE place = 2 AND token = ?2 AND (attempts IS NULL OR octet_length(attempts) < 8192)

-- KEYS_OF: the tenants and lanes of some jobs.
-- In     1 ids as a JSON array
-- Reply  ordering_key, limit_key of those that have either
-- Index  tenure_job's key
SELECT ordering_key, limit_key FROM json_each(?1) AS wanted CROSS JOIN tenure_job ON tenure_job.id = wanted.value
WHERE ordering_key IS NOT NULL OR limit_key IS NOT NULL

-- LEAVE_MANY: jobs that became history leave the hot table.
-- In     1 ids as a JSON array
-- Reply  nothing
-- Index  tenure_job's key; leaves tenure_job_queue
DELETE FROM tenure_job WHERE id IN (SELECT value FROM json_each(?1))
