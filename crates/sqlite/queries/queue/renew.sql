-- queue/renew.sql: a heartbeat.
-- Guard  token; the caller has judged owner and expiry under the same write lock.
-- In     1 token, 2 expires_at, 3 beats, 4 last_beat_at, 5 longest_gap_ms
-- Reply  nothing
-- Index  lease's key; moves within lease_expires, lease_queue_expires
UPDATE lease SET expires_at = ?2, beats = ?3, last_beat_at = ?4, longest_gap_ms = ?5 WHERE token = ?1
