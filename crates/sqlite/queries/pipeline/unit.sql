-- PIPELINE_ENDED: a claim has ended.
-- Guard  none.
-- In     1 run, 2 token, 3 stage, 4 segment, 5 owner, 6 claimed_at, 7 ended_at, 8 outcome, 9 verb, 10 status,
--        11 error, 12 beats, 13 last_beat_at, 14 longest_gap_ms
-- Reply  nothing
-- Index  tenure_unit_attempt's key
INSERT INTO tenure_unit_attempt (run, token, stage, segment, owner, claimed_at, ended_at, outcome, verb, status, error, beats,
                          last_beat_at, longest_gap_ms)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)

-- PIPELINE_EVENT: something abnormal happened (L8).
-- Guard  none.
-- In     1 run, 2 at, 3 stage, 4 segment, 5 what, 6 token, 7 owner, 8 attempt, 9 reason, 10 until, 11 error, 12 by
-- Reply  nothing
-- Index  tenure_unit_event_run
INSERT INTO tenure_unit_event (run, at, stage, segment, what, token, owner, attempt, reason, until, error, by)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12)

-- PIPELINE_LAST_CLAIM: the last ended claim of a unit, which may have been dropped and made anew since.
-- Guard  none.
-- In     1 run, 2 the token of one of its claims, 3 stage, 4 segment
-- Reply  one row: its token
-- Index  tenure_unit_attempt's key, from the token on
SELECT token FROM tenure_unit_attempt
 WHERE run = ?1 AND token >= ?2 AND stage = ?3 AND segment = ?4 ORDER BY token DESC LIMIT 1

-- PIPELINE_OPEN_SEGMENTS: whether the READY segments of a stage are handed out.
-- Guard  none.
-- In     1 run, 2 stage, 3 open
-- Reply  nothing
-- Index  tenure_unit_undone
UPDATE tenure_unit SET open = ?3 WHERE run = ?1 AND stage = ?2 AND segment <> '' AND status <> 'DONE' AND status = 'READY'

-- PIPELINE_RECEIPT: a claim of a unit that has ended.
-- Guard  none.
-- In     1 run, 2 token, 3 stage, 4 segment
-- Reply  one row or none
-- Index  tenure_unit_attempt's key
SELECT run, token, stage, segment, owner, claimed_at, ended_at, outcome, verb, status, error, beats, last_beat_at,
       longest_gap_ms
  FROM tenure_unit_attempt WHERE run = ?1 AND token = ?2 AND stage = ?3 AND segment = ?4

-- PIPELINE_REFUSED: a write under a lost lease; repetitions are counted into one event for each claim and reason, with
-- the first time and the last (L8).
-- Guard  none.
-- In     1 run, 2 at, 3 stage, 4 segment, 5 token, 6 owner, 7 verb, 8 lost
-- Reply  nothing
-- Index  tenure_unit_event_refused
INSERT INTO tenure_unit_event (run, at, stage, segment, what, token, owner, verb, lost)
VALUES (?1, ?2, ?3, ?4, 'refused', ?5, ?6, ?7, ?8)
ON CONFLICT (run, stage, segment, token, lost) WHERE what = 'refused'
DO UPDATE SET first_at = coalesce(first_at, at), at = excluded.at, owner = excluded.owner, verb = excluded.verb,
              count = count + 1

-- PIPELINE_RUN: one run.
-- Guard  none.
-- In     1 id
-- Reply  one row or none
-- Index  tenure_run's key
SELECT id, pipeline, version, input, status, paused, created_at, finished_at, key FROM tenure_run WHERE id = ?1

-- PIPELINE_SAVE: a unit as core decided.
-- Guard  the unit was read and judged in this transaction, under the write lock; triggers hold up P2 and L2.
-- In     1 id, 2 split, 3 status, 4 reason, 5 retry_at, 6 attempt, 7 output, 8 error, 9 progress, 10 record, 11 token,
--        12 open, 13 owner, 14 granted_ms, 15 granted_at, 16 expires_at, 17 beats, 18 last_beat_at, 19 longest_gap_ms,
--        20 changed_at
-- Reply  nothing
-- Index  tenure_unit's key
UPDATE tenure_unit SET split = ?2, status = ?3, reason = ?4, retry_at = ?5, attempt = ?6, output = ?7, error = ?8, progress = ?9,
       record = ?10, token = ?11, open = ?12, owner = ?13, granted_ms = ?14, granted_at = ?15, expires_at = ?16, beats = ?17,
       last_beat_at = ?18, longest_gap_ms = ?19, changed_at = ?20
 WHERE id = ?1

-- PIPELINE_STUCK: recovery or the orchestrator could not read this unit or what belongs to it; it is left for a person.
-- Guard  none.
-- In     1 id
-- Reply  nothing
-- Index  tenure_unit's key; leaves tenure_unit_expires and tenure_unit_retry
UPDATE tenure_unit SET stuck = 1 WHERE id = ?1

-- PIPELINE_TOUCH: something happened in a run that the orchestrator should look at. One that waits keeps its place.
-- Guard  none.
-- In     1 run
-- Reply  nothing
-- Index  tenure_run_touched's index on run
INSERT INTO tenure_run_touched (run) VALUES (?1) ON CONFLICT (run) DO UPDATE SET stuck = 0 WHERE stuck = 1

-- PIPELINE_UNIT: one unit.
-- Guard  none.
-- In     1 run, 2 stage, 3 segment, empty for the stage itself
-- Reply  one row or none
-- Index  tenure_unit's keys
SELECT * FROM tenure_unit_shown WHERE run = ?1 AND stage = ?2 AND segment = ?3

-- PIPELINE_UNIT_BY_ID: one unit.
-- Guard  none.
-- In     1 id
-- Reply  one row or none
-- Index  tenure_unit's key
SELECT * FROM tenure_unit_shown WHERE id = ?1
