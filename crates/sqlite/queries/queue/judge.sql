-- FORGET_REFUSALS: of a job the refusals are kept whose last came latest.
-- In     1 job, 2 how many are kept
-- Reply  nothing
-- Index  tenure_event_refused: no more than one beyond those kept
DELETE FROM tenure_event
WHERE id IN (SELECT id FROM tenure_event WHERE job = ?1 AND what = 'refused' ORDER BY at DESC, id DESC LIMIT -1 OFFSET ?2)

-- LAST_RECEIPT: the last claim of a job that is gone, of those that are remembered.
-- In     1 job
-- Reply  one row; null if none is
-- Index  tenure_receipt's key
SELECT max(token) FROM tenure_receipt WHERE job = ?1

-- RECEIPT: an ending that is no longer kept with its job (L12).
-- In     1 job, 2 token
-- Reply  at most one row
-- Index  tenure_receipt's key
SELECT verb, status, cancelled, owner, at FROM tenure_receipt WHERE job = ?1 AND token = ?2

-- REFUSED: a write under a lost lease; repetitions are counted into one event for each token and reason (L8).
-- In     1 at, 2 job, 3 token, 4 owner, 5 verb, 6 lost
-- Reply  nothing
-- Index  tenure_event_refused
INSERT INTO tenure_event (at, job, what, token, owner, verb, lost) VALUES (?1, ?2, 'refused', ?3, ?4, ?5, ?6)
ON CONFLICT (job, token, lost) WHERE what = 'refused'
DO UPDATE SET first_at = coalesce(first_at, at), at = excluded.at, owner = excluded.owner, verb = excluded.verb,
              count = count + 1
