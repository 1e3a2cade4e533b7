-- SCHEDULE_FIRE: moves the cursor of a schedule (T1).
-- Guard  name and the revision that was judged, else no change
-- In     1 name, 2 revision, 3 the new revision, 4 next_at, 5 slots fired, 6 slots missed, 7 the last of these or NULL,
--        8 the last slot fired or NULL, 9 when, 10 its job
-- Reply  nothing; changes tell whether the guard held
-- Index  tenure_schedule's key; writes tenure_schedule_due
UPDATE tenure_schedule
   SET revision = ?3, next_at = ?4, fired = fired + ?5, missed = missed + ?6, missed_at = coalesce(?7, missed_at),
       last_slot = coalesce(?8, last_slot), last_fired_at = iif(?8 IS NULL, last_fired_at, ?9),
       last_job = coalesce(?10, last_job)
 WHERE name = ?1 AND revision = ?2

-- SCHEDULE_FIRING: the row of a slot that was fired. A second one of the same slot is refused by the key (T1).
-- In     1 schedule, 2 slot, 3 fired_at, 4 job
-- Reply  nothing
-- Index  tenure_firing's key
INSERT INTO tenure_firing (schedule, slot, fired_at, job) VALUES (?1, ?2, ?3, ?4)

-- SCHEDULE_TRIM: firings beyond those that are kept.
-- In     1 schedule, 2 how many are kept
-- Reply  nothing
-- Index  tenure_firing's key, twice
DELETE FROM tenure_firing
 WHERE schedule = ?1
   AND slot <= (SELECT slot FROM tenure_firing WHERE schedule = ?1 ORDER BY slot DESC LIMIT 1 OFFSET ?2)
