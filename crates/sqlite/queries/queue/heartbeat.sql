-- ASKED_TO_STOP: jobs under a lease that an operator asked to cancel, by id.
-- In     1 token
-- Reply  id
-- Index  tenure_lease's key, tenure_job's key
SELECT tenure_job.id
FROM tenure_lease CROSS JOIN json_each(tenure_lease.units) AS unit CROSS JOIN tenure_job ON tenure_job.id = unit.value
WHERE tenure_lease.token = ?1 AND tenure_job.place = 2 AND tenure_job.token = ?1 AND tenure_job.cancel_requested = 1
ORDER BY tenure_job.id

-- NOTE: what a heartbeat carries; what it does not carry stays.
-- In     1 job, 2 progress, 3 checkpoint
-- Reply  nothing
-- Index  tenure_note's key
INSERT INTO tenure_note (job, progress, checkpoint) VALUES (?1, ?2, ?3)
ON CONFLICT (job) DO UPDATE SET progress = coalesce(excluded.progress, progress),
                                checkpoint = coalesce(excluded.checkpoint, checkpoint)

-- RENEW: a heartbeat.
-- Guard  token; the caller has judged owner and expiry under the same write lock.
-- In     1 token, 2 expires_at, 3 beats, 4 last_beat_at, 5 longest_gap_ms
-- Reply  nothing
-- Index  tenure_lease's key; moves within tenure_lease_expires, tenure_lease_queue_expires
UPDATE tenure_lease SET expires_at = ?2, beats = ?3, last_beat_at = ?4, longest_gap_ms = ?5 WHERE token = ?1
