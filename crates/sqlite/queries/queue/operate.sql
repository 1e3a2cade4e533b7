-- CANCEL: a waiting job is cancelled and becomes history.
-- Guard  place: not a running one.
-- In     1 id, 2 now
-- Reply  nothing; one row
-- Index  tenure_job's key; writes tenure_finished_queue_status, tenure_finished_failed and tenure_finished_age
INSERT INTO tenure_finished (id, queue, kind, priority, status, reason, created_at, run_at, attempt, attempts_max,
                      backoff_initial_ms, backoff_factor, backoff_max_ms, backoff_jitter, timeout_ms, ordering_key,
                      limit_key, token, finished_at, error, attempts, payload)
SELECT id, queue, kind, priority, 'failed', 'cancelled', created_at, run_at, attempt, attempts_max,
       backoff_initial_ms, backoff_factor, backoff_max_ms, backoff_jitter, timeout_ms, ordering_key,
       limit_key, token, ?2, error, attempts, payload
FROM tenure_job WHERE id = ?1 AND place <> 2

-- CANCEL_REQUESTED: an operator asks the holder of a job to stop (L11).
-- Guard  place: only a running one.
-- In     1 id
-- Reply  nothing; one row
-- Index  tenure_job's key
UPDATE tenure_job SET cancel_requested = 1 WHERE id = ?1 AND place = 2

-- IS_FINISHED: whether a job has ended and is kept.
-- In     1 id
-- Reply  one row: 0 or 1
-- Index  tenure_finished's key
SELECT EXISTS (SELECT 1 FROM tenure_finished WHERE id = ?1)

-- LANE_FREE: the job that a lane stopped for is tried again.
-- In     1 queue, 2 ordering_key, 3 job
-- Reply  nothing
-- Index  tenure_lane's key
DELETE FROM tenure_lane WHERE queue = ?1 AND key = ?2 AND blocked_by = ?3

-- LEASE_CANCELS: the next heartbeat of a lease looks for jobs to cancel.
-- In     1 token
-- Reply  nothing
-- Index  tenure_lease's key
UPDATE tenure_lease SET cancels = 1 WHERE token = ?1

-- LEAVE: a job that became history leaves the hot table.
-- In     1 id
-- Reply  nothing
-- Index  tenure_job's key; leaves tenure_job_queue
DELETE FROM tenure_job WHERE id = ?1

-- LEAVE_HISTORY: a job that was put back leaves history.
-- In     1 id
-- Reply  nothing
-- Index  tenure_finished's key
DELETE FROM tenure_finished WHERE id = ?1

-- RETRY: an operator puts a finished job back, with its attempts anew and the claim it ended with among the
-- ended ones (L9).
-- In     1 id, 2 now
-- Reply  queue, ordering_key, limit_key
-- Index  tenure_finished's key; writes tenure_job_queue and the index of its place
INSERT INTO tenure_job (id, queue, kind, priority, place, created_at, run_at, attempts_max, backoff_initial_ms, backoff_factor,
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
FROM tenure_finished WHERE id = ?1
RETURNING queue, ordering_key, limit_key

-- UNFINISHED: where an unfinished job stands, for an operator.
-- In     1 id
-- Reply  at most one row: queue, place, token, ordering_key, limit_key
-- Index  tenure_job's key
SELECT queue, place, token, ordering_key, limit_key FROM tenure_job WHERE id = ?1
