-- SCHEDULE_CHANGE: another definition for a schedule.
-- Guard  the caller compared its revision, in the same transaction
-- In     as schedule/create.sql
-- Reply  nothing
-- Index  tenure_schedule's key; writes tenure_schedule_due
UPDATE tenure_schedule
   SET revision = ?2, updated_at = ?3, next_at = ?4, cron = ?5, zone = ?6, catch_up = ?7, paused = ?8, queue = ?9,
       kind = ?10, payload = ?11, priority = ?12, attempts_max = ?13, timeout_ms = ?14, ordering_key = ?15,
       limit_key = ?16, backoff_initial_ms = ?17, backoff_factor = ?18, backoff_max_ms = ?19, backoff_jitter = ?20
 WHERE name = ?1

-- SCHEDULE_CREATE: a new schedule.
-- Guard  the caller found none of that name, in the same transaction
-- In     1 name, 2 revision, 3 now, 4 next_at, 5 cron, 6 zone, 7 catch_up, 8 paused, 9 queue, 10 kind, 11 payload,
--        12 priority, 13 attempts_max, 14 timeout_ms, 15 ordering_key, 16 limit_key, 17…20 backoff
-- Reply  nothing
-- Index  writes tenure_schedule_due
INSERT INTO tenure_schedule (name, revision, created_at, updated_at, next_at, cron, zone, catch_up, paused, queue, kind, payload,
                      priority, attempts_max, timeout_ms, ordering_key, limit_key, backoff_initial_ms, backoff_factor,
                      backoff_max_ms, backoff_jitter)
VALUES (?1, ?2, ?3, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18, ?19, ?20)

-- SCHEDULE_DRAW_REVISION: the next revision of any schedule.
-- Reply  it
-- Index  tenure_schedule_meta's key
UPDATE tenure_schedule_meta SET last_revision = last_revision + 1 RETURNING last_revision

-- SCHEDULE_FORGET_FIRINGS: the firings of a schedule that was removed.
-- In     1 schedule
-- Reply  nothing
-- Index  tenure_firing's key
DELETE FROM tenure_firing WHERE schedule = ?1

-- SCHEDULE_REMOVE: a schedule that is no longer wanted.
-- In     1 name
-- Reply  nothing; changes tell whether it was there
-- Index  tenure_schedule's key
DELETE FROM tenure_schedule WHERE name = ?1
