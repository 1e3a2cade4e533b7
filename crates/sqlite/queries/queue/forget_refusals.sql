-- queue/forget_refusals.sql: of a job the refusals are kept whose last came latest.
-- In     1 job, 2 how many are kept
-- Reply  nothing
-- Index  event_refused: no more than one beyond those kept
DELETE FROM event
WHERE id IN (SELECT id FROM event WHERE job = ?1 AND what = 'refused' ORDER BY at DESC, id DESC LIMIT -1 OFFSET ?2)
