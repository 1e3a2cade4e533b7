-- pipeline/attempts.sql: the last claims of a run that have ended.
-- Guard  none.
-- In     1 run, 2 how many
-- Reply  rows, newest first
-- Index  unit_attempt's key
SELECT run, token, stage, segment, owner, claimed_at, ended_at, outcome, verb, status, error, beats, last_beat_at,
       longest_gap_ms
  FROM unit_attempt WHERE run = ?1 ORDER BY token DESC LIMIT ?2
