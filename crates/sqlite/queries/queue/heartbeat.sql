-- ASKED_TO_STOP: jobs under a lease that an operator asked to cancel, by id.
-- In     1 token
-- Reply  id
-- Index  lease's key, job's key
SELECT job.id
FROM lease CROSS JOIN json_each(lease.units) AS unit CROSS JOIN job ON job.id = unit.value
WHERE lease.token = ?1 AND job.place = 2 AND job.token = ?1 AND job.cancel_requested = 1
ORDER BY job.id

-- NOTE: what a heartbeat carries; what it does not carry stays.
-- In     1 job, 2 progress, 3 checkpoint
-- Reply  nothing
-- Index  note's key
INSERT INTO note (job, progress, checkpoint) VALUES (?1, ?2, ?3)
ON CONFLICT (job) DO UPDATE SET progress = coalesce(excluded.progress, progress),
                                checkpoint = coalesce(excluded.checkpoint, checkpoint)

-- RENEW: a heartbeat.
-- Guard  token; the caller has judged owner and expiry under the same write lock.
-- In     1 token, 2 expires_at, 3 beats, 4 last_beat_at, 5 longest_gap_ms
-- Reply  nothing
-- Index  lease's key; moves within lease_expires, lease_queue_expires
UPDATE lease SET expires_at = ?2, beats = ?3, last_beat_at = ?4, longest_gap_ms = ?5 WHERE token = ?1
