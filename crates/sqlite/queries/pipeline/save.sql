-- pipeline/save.sql: a unit as core decided.
-- Guard  the unit was read and judged in this transaction, under the write lock; triggers hold up P2 and L2.
-- In     1 id, 2 split, 3 status, 4 reason, 5 retry_at, 6 attempt, 7 output, 8 error, 9 progress, 10 record, 11 token,
--        12 open, 13 owner, 14 granted_ms, 15 granted_at, 16 expires_at, 17 beats, 18 last_beat_at, 19 longest_gap_ms,
--        20 changed_at
-- Reply  nothing
-- Index  unit's key
UPDATE unit SET split = ?2, status = ?3, reason = ?4, retry_at = ?5, attempt = ?6, output = ?7, error = ?8, progress = ?9,
       record = ?10, token = ?11, open = ?12, owner = ?13, granted_ms = ?14, granted_at = ?15, expires_at = ?16, beats = ?17,
       last_beat_at = ?18, longest_gap_ms = ?19, changed_at = ?20
 WHERE id = ?1
