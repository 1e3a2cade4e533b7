-- BLOCKING: whether a lane stopped for this job.
-- In     1 id
-- Reply  a row if it did
-- Index  finished's and lane's keys
SELECT 1 FROM finished AS f CROSS JOIN lane ON lane.queue = f.queue AND lane.key = f.ordering_key
WHERE f.id = ?1 AND lane.blocked_by = f.id

-- DEDUP_ENDED: how jobs ended that are being removed, for as long as their keys are remembered (Q7).
-- In     1 ids as a JSON array
-- Reply  nothing
-- Index  dedup_job, finished's key
UPDATE dedup SET ended = (SELECT status FROM finished WHERE finished.id = dedup.job)
WHERE job IN (SELECT value FROM json_each(?1))

-- FORGET: finished jobs are removed.
-- In     1 ids as a JSON array
-- Reply  nothing
-- Index  finished's key
DELETE FROM finished WHERE id IN (SELECT value FROM json_each(?1))

-- FORGET_EVENTS: the events of jobs that are being removed.
-- In     1 ids as a JSON array
-- Reply  nothing
-- Index  event_job
DELETE FROM event WHERE job IN (SELECT value FROM json_each(?1))

-- FORGET_NOTES: the notes of jobs that are being removed.
-- In     1 ids as a JSON array
-- Reply  nothing
-- Index  note's key
DELETE FROM note WHERE job IN (SELECT value FROM json_each(?1))

-- RECEIPTS_OF_EARLIER: receipts of the earlier claims of finished jobs that are being removed, within their
-- hour.
-- In     1 ids as a JSON array, 2 an hour ago
-- Reply  nothing
-- Index  finished's key
INSERT OR REPLACE INTO receipt (job, token, owner, verb, status, cancelled, at)
SELECT f.id, a.value ->> 'token', a.value ->> 'owner', a.value ->> 'verb',
       CASE a.value ->> 'outcome'
           WHEN 'completed' THEN 'completed' WHEN 'failed' THEN 'failed' WHEN 'cancelled' THEN 'failed'
           ELSE 'queued' END,
       a.value ->> 'outcome' IS 'cancelled', a.value ->> 'ended_at'
FROM json_each(?1) AS gone CROSS JOIN finished AS f ON f.id = gone.value
     CROSS JOIN json_each(CASE WHEN json_valid(f.attempts) THEN f.attempts ELSE '[]' END) AS a
WHERE a.value ->> 'ended_at' > ?2

-- RECEIPTS_OF_LAST: receipts of the claims that finished jobs ended with, before the jobs are removed.
-- In     1 ids as a JSON array, 2 an hour ago
-- Reply  nothing
-- Index  finished's key
INSERT OR REPLACE INTO receipt (job, token, owner, verb, status, cancelled, at)
SELECT f.id, f.token, f.owner, f.verb,
       CASE f.outcome
           WHEN 'completed' THEN 'completed' WHEN 'failed' THEN 'failed' WHEN 'cancelled' THEN 'failed'
           ELSE 'queued' END,
       f.outcome IS 'cancelled', f.finished_at
FROM json_each(?1) AS gone CROSS JOIN finished AS f ON f.id = gone.value
WHERE f.owner IS NOT NULL AND f.finished_at > ?2
