-- queue/enqueue.sql: a new job.
-- In     1 id, 2 queue, 3 kind, 4 priority, 5 place, 6 created_at, 7 run_at, 8 attempts_max, 9…12 backoff,
--        13 timeout_ms, 14 ordering_key, 15 limit_key, 16 payload
-- Reply  nothing
-- Index  writes job_queue and the index of its place
INSERT INTO job (id, queue, kind, priority, place, created_at, run_at, attempts_max, backoff_initial_ms,
                 backoff_factor, backoff_max_ms, backoff_jitter, timeout_ms, ordering_key, limit_key, payload)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16)
