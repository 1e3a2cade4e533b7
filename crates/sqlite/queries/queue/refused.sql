-- queue/refused.sql: a write under a lost lease; repetitions are counted into one event for each token and reason (L8).
-- In     1 at, 2 job, 3 token, 4 owner, 5 verb, 6 lost
-- Reply  nothing
-- Index  event_refused
INSERT INTO event (at, job, what, token, owner, verb, lost) VALUES (?1, ?2, 'refused', ?3, ?4, ?5, ?6)
ON CONFLICT (job, token, lost) WHERE what = 'refused'
DO UPDATE SET first_at = coalesce(first_at, at), at = excluded.at, owner = excluded.owner, verb = excluded.verb,
              count = count + 1
