-- pipeline/due.sql: units that are to be tried again.
-- Guard  runs under the write lock.
-- In     1 now, 2 how many
-- Reply  rows, the longest due first
-- Index  unit_retry
SELECT id, run, pipeline, stage, segment, needs, priority, lease_ms, attempts_max, backoff, segmented, split, status, reason,
       retry_at, attempt, input, output, error, progress, record, token, owner, granted_ms, granted_at, expires_at, beats,
       last_beat_at, longest_gap_ms, changed_at
  FROM unit WHERE retry_at IS NOT NULL AND retry_at <= ?1 ORDER BY retry_at, id LIMIT ?2
