-- EVENT: something abnormal happened (L8).
-- In     1 at, 2 job, 3 what, 4 token, 5 owner, 6 attempt, 7 reason, 8 until, 9 error, 10 by
-- Reply  nothing
-- Index  writes tenure_event_job
INSERT INTO tenure_event (at, job, what, token, owner, attempt, reason, until, error, by)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10)

-- EVICT: the first ended claim of a job is no longer kept with it.
-- In     1 job
-- Reply  nothing
-- Index  tenure_job's key
UPDATE tenure_job SET attempts = json_remove(attempts, '$[0]') WHERE id = ?1

-- EVICT_RECEIPT: the first ended claim of a job makes room for the next; within its hour a receipt of it
-- is kept (L12).
-- In     1 job, 2 an hour ago
-- Reply  nothing
-- Index  tenure_job's key
INSERT OR REPLACE INTO tenure_receipt (job, token, owner, verb, status, cancelled, at)
SELECT id, attempts ->> '$[0].token', attempts ->> '$[0].owner', attempts ->> '$[0].verb',
       CASE attempts ->> '$[0].outcome'
           WHEN 'completed' THEN 'completed' WHEN 'failed' THEN 'failed' WHEN 'cancelled' THEN 'failed'
           ELSE 'queued' END,
       attempts ->> '$[0].outcome' IS 'cancelled',
       attempts ->> '$[0].ended_at'
FROM tenure_job WHERE id = ?1 AND attempts ->> '$[0].ended_at' > ?2

-- FINISH: a running job ends for good and becomes history.
-- Guard  id, place and token; the caller has judged owner and expiry under the same write lock.
-- In     1 id, 2 token, 3 status, 4 reason, 5 owner, 6 claimed_at, 7 finished_at, 8 outcome, 9 verb, 10 beats,
--        11 last_beat_at, 12 longest_gap_ms, 13 error, 14 result
-- Reply  nothing; one row, or the caller answers LeaseLost
-- Index  tenure_job's key; writes tenure_finished_queue_status and tenure_finished_age
INSERT INTO tenure_finished (id, queue, kind, priority, status, reason, created_at, run_at, attempt, attempts_max,
                      backoff_initial_ms, backoff_factor, backoff_max_ms, backoff_jitter, timeout_ms, ordering_key,
                      limit_key, token, owner, claimed_at, finished_at, outcome, verb, beats, last_beat_at,
                      longest_gap_ms, error, error_is_last, result, attempts, payload)
SELECT id, queue, kind, priority, ?3, ?4, created_at, run_at, attempt, attempts_max,
       backoff_initial_ms, backoff_factor, backoff_max_ms, backoff_jitter, timeout_ms, ordering_key,
       limit_key, token, ?5, ?6, ?7, ?8, ?9, ?10, ?11,
       ?12, coalesce(?13, error), ?13 IS NOT NULL, ?14, attempts, payload
FROM tenure_job WHERE id = ?1 AND place = 2 AND token = ?2

-- LANE_BLOCK: a lane stops for a job that failed for good.
-- In     1 queue, 2 ordering_key, 3 job
-- Reply  nothing
-- Index  tenure_lane's key
INSERT INTO tenure_lane (queue, key, blocked_by) VALUES (?1, ?2, ?3)
ON CONFLICT (queue, key) DO UPDATE SET blocked_by = excluded.blocked_by

-- PUT_BACK: a running job waits again, and how its claim ended is kept with it.
-- Guard  id, place and token; the caller has judged owner and expiry under the same write lock.
-- In     1 id, 2 token, 3 place, 4 attempt, 5 run_at, 6 error, 7 owner, 8 claimed_at, 9 ended_at, 10 outcome, 11 verb,
--        12 beats, 13 last_beat_at, 14 longest_gap_ms
-- Reply  nothing; one row, or the caller answers LeaseLost
-- Index  tenure_job's key; enters the index of its place
UPDATE tenure_job
SET place = ?3, attempt = ?4, run_at = ?5, error = coalesce(?6, error),
    attempts = json_insert(
        coalesce(attempts, '[]'), '$[#]',
        json_object('token', ?2, 'owner', ?7, 'claimed_at', ?8, 'ended_at', ?9, 'outcome', ?10, 'verb', ?11,
                    'error', ?6, 'beats', ?12, 'last_beat_at', ?13, 'longest_gap_ms', ?14))
WHERE id = ?1 AND place = 2 AND token = ?2
