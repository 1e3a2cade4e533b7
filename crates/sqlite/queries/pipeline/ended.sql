-- pipeline/ended.sql: a claim has ended.
-- Guard  none.
-- In     1 run, 2 token, 3 stage, 4 segment, 5 owner, 6 claimed_at, 7 ended_at, 8 outcome, 9 verb, 10 status,
--        11 error, 12 beats, 13 last_beat_at, 14 longest_gap_ms
-- Reply  nothing
-- Index  unit_attempt's key
INSERT INTO unit_attempt (run, token, stage, segment, owner, claimed_at, ended_at, outcome, verb, status, error, beats,
                          last_beat_at, longest_gap_ms)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14)
