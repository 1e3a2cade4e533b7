-- schedule/create.sql: a new schedule.
-- Guard  the caller found none of that name, in the same transaction
-- In     1 name, 2 revision, 3 now, 4 next_at, 5 cron, 6 zone, 7 catch_up, 8 paused, 9 queue, 10 kind, 11 payload,
--        12 priority, 13 attempts_max, 14 timeout_ms, 15 ordering_key, 16 limit_key, 17…20 backoff
-- Reply  nothing
-- Index  writes schedule_due
INSERT INTO schedule (name, revision, created_at, updated_at, next_at, cron, zone, catch_up, paused, queue, kind, payload,
                      priority, attempts_max, timeout_ms, ordering_key, limit_key, backoff_initial_ms, backoff_factor,
                      backoff_max_ms, backoff_jitter)
VALUES (?1, ?2, ?3, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)
