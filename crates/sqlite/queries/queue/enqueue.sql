-- CREATE_QUEUE: a queue exists from its first job on.
-- In     1 name, 2 now
-- Reply  nothing
-- Index  tenure_queue's key
INSERT INTO tenure_queue (name, created_at) VALUES (?1, ?2) ON CONFLICT (name) DO NOTHING

-- DEDUP: the job that a key stands for (Q7).
-- In     1 queue, 2 key
-- Reply  at most one row: job, until, body, place while it is unfinished, how it ended
-- Index  dedup's, job's and tenure_finished's keys
SELECT d.job, d.until, d.body, (SELECT place FROM tenure_job WHERE tenure_job.id = d.job),
       coalesce(d.ended, (SELECT status FROM tenure_finished WHERE tenure_finished.id = d.job))
FROM tenure_dedup AS d WHERE d.queue = ?1 AND d.key = ?2

-- DRAW_IDS: the numbers of new jobs, from the one counter that never goes back.
-- Guard  none; runs under the write lock.
-- In     1 how many
-- Reply  one row: the last number drawn
-- Index  tenure_meta's key
UPDATE tenure_meta SET last_id = last_id + ?1 WHERE only = 1 RETURNING last_id

-- ENQUEUE: a new job.
-- In     1 id, 2 queue, 3 kind, 4 priority, 5 place, 6 created_at, 7 run_at, 8 attempts_max, 9…12 backoff,
--        13 timeout_ms, 14 ordering_key, 15 limit_key, 16 payload
-- Reply  nothing
-- Index  writes tenure_job_queue and the index of its place
INSERT INTO tenure_job (id, queue, kind, priority, place, created_at, run_at, attempts_max, backoff_initial_ms,
                 backoff_factor, backoff_max_ms, backoff_jitter, timeout_ms, ordering_key, limit_key, payload)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)

-- REMEMBER: a key stands for a new job from now on.
-- In     1 queue, 2 key, 3 job, 4 until, 5 body
-- Reply  nothing
-- Index  tenure_dedup's key; writes tenure_dedup_age and tenure_dedup_job
INSERT INTO tenure_dedup (queue, key, job, until, body) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (queue, key) DO UPDATE SET job = excluded.job, until = excluded.until, body = excluded.body, ended = NULL
