-- queue/lease.sql: one lease.
-- In     1 token
-- Reply  at most one row
-- Index  lease's key
SELECT owner, queue, json_array_length(units) AS units, started, left_count, lease_ms, granted_at, expires_at, beats,
       last_beat_at, longest_gap_ms, ends_at, keyed, cancels
FROM lease WHERE token = ?1
