-- pipeline/receipt.sql: a claim of a unit that has ended.
-- Guard  none.
-- In     1 run, 2 token, 3 stage, 4 segment
-- Reply  one row or none
-- Index  unit_attempt's key
SELECT run, token, stage, segment, owner, claimed_at, ended_at, outcome, verb, status, error, beats, last_beat_at,
       longest_gap_ms
  FROM unit_attempt WHERE run = ?1 AND token = ?2 AND stage = ?3 AND segment = ?4
