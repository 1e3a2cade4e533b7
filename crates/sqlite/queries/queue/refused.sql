-- queue/refused.sql: a write under a lost lease; repetitions are counted into one event for each reason (L8).
-- In     1 at, 2 job, 3 token, 4 owner, 5 verb, 6 lost
-- Reply  nothing
-- Index  event_refused
INSERT INTO event (at, job, what, token, owner, verb, lost) VALUES (?1, ?2, 'refused', ?3, ?4, ?5, ?6)
ON CONFLICT (job, lost) WHERE what = 'refused'
DO UPDATE SET at = excluded.at, token = excluded.token, owner = excluded.owner, verb = excluded.verb,
              count = count + 1
