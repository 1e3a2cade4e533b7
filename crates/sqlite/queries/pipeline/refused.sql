-- pipeline/refused.sql: a write under a lost lease; repetitions are counted into one event for each claim and reason, with
-- the first time and the last (L8).
-- Guard  none.
-- In     1 run, 2 at, 3 stage, 4 segment, 5 token, 6 owner, 7 verb, 8 lost
-- Reply  nothing
-- Index  unit_event_refused
INSERT INTO unit_event (run, at, stage, segment, what, token, owner, verb, lost)
VALUES (?1, ?2, ?3, ?4, 'refused', ?5, ?6, ?7, ?8)
ON CONFLICT (run, stage, segment, token, lost) WHERE what = 'refused'
DO UPDATE SET first_at = coalesce(first_at, at), at = excluded.at, owner = excluded.owner, verb = excluded.verb,
              count = count + 1
