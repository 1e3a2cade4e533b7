-- schedule/change.sql: another definition for a schedule.
-- Guard  the caller compared its revision, in the same transaction
-- In     as schedule/create.sql
-- Reply  nothing
-- Index  schedule's key; writes schedule_due
UPDATE schedule
   SET revision = ?2, updated_at = ?3, next_at = ?4, cron = ?5, zone = ?6, catch_up = ?7, paused = ?8, queue = ?9,
       kind = ?10, payload = ?11, priority = ?12, attempts_max = ?13, timeout_ms = ?14, ordering_key = ?15,
       limit_key = ?16, backoff_initial_ms = ?17, backoff_factor = ?18, backoff_max_ms = ?19, backoff_jitter = ?20
 WHERE name = ?1
