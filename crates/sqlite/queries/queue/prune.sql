-- BLOCKING: whether a lane stopped for this job.
-- In     1 id
-- Reply  a row if it did
-- Index  finished's and tenure_lane's keys
SELECT 1 FROM tenure_finished AS f CROSS JOIN tenure_lane ON tenure_lane.queue = f.queue AND tenure_lane.key = f.ordering_key
WHERE f.id = ?1 AND tenure_lane.blocked_by = f.id

-- DEDUP_ENDED: how jobs ended that are being removed, for as long as their keys are remembered (Q7).
-- In     1 ids as a JSON array
-- Reply  nothing
-- Index  tenure_dedup_job, tenure_finished's key
UPDATE tenure_dedup SET ended = (SELECT status FROM tenure_finished WHERE tenure_finished.id = tenure_dedup.job)
WHERE job IN (SELECT value FROM json_each(?1))

-- FORGET: finished jobs are removed.
-- In     1 ids as a JSON array
-- Reply  nothing
-- Index  tenure_finished's key
DELETE FROM tenure_finished WHERE id IN (SELECT value FROM json_each(?1))

-- FORGET_EVENTS: the events of jobs that are being removed.
-- In     1 ids as a JSON array
-- Reply  nothing
-- Index  tenure_event_job
DELETE FROM tenure_event WHERE job IN (SELECT value FROM json_each(?1))

-- FORGET_NOTES: the notes of jobs that are being removed.
-- In     1 ids as a JSON array
-- Reply  nothing
-- Index  tenure_note's key
DELETE FROM tenure_note WHERE job IN (SELECT value FROM json_each(?1))

-- PAST: finished jobs past the retention of their queue, oldest first in each.
-- Guard  a job that its lane stopped for stays.
-- In     1 now, 2 at most how many
-- Reply  id
-- Index  tenure_finished_age, for each queue
SELECT f.id
FROM tenure_queue AS q CROSS JOIN tenure_finished AS f INDEXED BY tenure_finished_age
     ON f.queue = q.name AND f.finished_at <= ?1 - q.retention_ms * 1000
WHERE NOT EXISTS (SELECT 1 FROM tenure_lane
                  WHERE tenure_lane.queue = f.queue AND tenure_lane.key = f.ordering_key AND tenure_lane.blocked_by = f.id)
LIMIT ?2

-- PRUNE_CHANGES: changes of settings that are no longer kept.
-- In     1 the last instant to forget, 2 how many at most
-- Reply  nothing
-- Index  tenure_change_age
DELETE FROM tenure_change WHERE id IN (SELECT id FROM tenure_change WHERE at <= ?1 ORDER BY at LIMIT ?2)

-- PRUNE_KEYS: dedup keys past their window are removed, unless their job has not ended.
-- In     1 now, 2 at most how many
-- Reply  nothing; as many rows as went
-- Index  tenure_dedup_age, tenure_job's key
DELETE FROM tenure_dedup
WHERE (queue, key) IN (SELECT queue, key FROM tenure_dedup
                       WHERE until <= ?1 AND NOT EXISTS (SELECT 1 FROM tenure_job WHERE tenure_job.id = tenure_dedup.job)
                       ORDER BY until LIMIT ?2)

-- PRUNE_RECEIPTS: receipts past their hour are removed.
-- In     1 an hour ago, 2 at most how many
-- Reply  nothing; as many rows as went
-- Index  tenure_receipt_age
DELETE FROM tenure_receipt
WHERE (job, token) IN (SELECT job, token FROM tenure_receipt WHERE at <= ?1 ORDER BY at LIMIT ?2)

-- PRUNE_SIGHTINGS: workers that were not seen for a day are forgotten.
-- In     1 a day ago, 2 at most how many
-- Reply  nothing; as many rows changed as were forgotten
-- Index  tenure_sighting_age
DELETE FROM tenure_sighting
WHERE (owner, queue, kinds) IN (SELECT owner, queue, kinds FROM tenure_sighting WHERE seen_at <= ?1 ORDER BY seen_at LIMIT ?2)

-- PRUNE_TENANTS: tenants of which nothing runs, and whose spent rate is of a period that is over,
-- are removed.
-- In     1 the longest period ago, 2 at most how many
-- Reply  nothing
-- Index  tenure_tenant_idle
DELETE FROM tenure_tenant
WHERE (queue, key) IN (SELECT queue, key FROM tenure_tenant WHERE running = 0 AND claimed_at <= ?1
                       ORDER BY claimed_at LIMIT ?2)

-- RECEIPTS_OF_EARLIER: receipts of the earlier claims of finished jobs that are being removed, within their
-- hour.
-- In     1 ids as a JSON array, 2 an hour ago
-- Reply  nothing
-- Index  tenure_finished's key
INSERT OR REPLACE INTO tenure_receipt (job, token, owner, verb, status, cancelled, at)
SELECT f.id, a.value ->> 'token', a.value ->> 'owner', a.value ->> 'verb',
       CASE a.value ->> 'outcome'
           WHEN 'completed' THEN 'completed' WHEN 'failed' THEN 'failed' WHEN 'cancelled' THEN 'failed'
           ELSE 'queued' END,
       a.value ->> 'outcome' IS 'cancelled', a.value ->> 'ended_at'
FROM json_each(?1) AS gone CROSS JOIN tenure_finished AS f ON f.id = gone.value
     CROSS JOIN json_each(CASE WHEN json_valid(f.attempts) THEN f.attempts ELSE '[]' END) AS a
WHERE a.value ->> 'ended_at' > ?2

-- RECEIPTS_OF_LAST: receipts of the claims that finished jobs ended with, before the jobs are removed.
-- In     1 ids as a JSON array, 2 an hour ago
-- Reply  nothing
-- Index  tenure_finished's key
INSERT OR REPLACE INTO tenure_receipt (job, token, owner, verb, status, cancelled, at)
SELECT f.id, f.token, f.owner, f.verb,
       CASE f.outcome
           WHEN 'completed' THEN 'completed' WHEN 'failed' THEN 'failed' WHEN 'cancelled' THEN 'failed'
           ELSE 'queued' END,
       f.outcome IS 'cancelled', f.finished_at
FROM json_each(?1) AS gone CROSS JOIN tenure_finished AS f ON f.id = gone.value
WHERE f.owner IS NOT NULL AND f.finished_at > ?2
