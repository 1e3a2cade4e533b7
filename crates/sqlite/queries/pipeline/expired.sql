-- pipeline/expired.sql: units whose lease ran out.
-- Guard  runs under the write lock.
-- In     1 now, 2 how many
-- Reply  rows, the oldest deadline first
-- Index  unit_expires
SELECT id, run, pipeline, stage, segment, needs, priority, lease_ms, attempts_max, backoff, segmented, split, status, reason,
       retry_at, attempt, input, output, error, progress, record, token, owner, granted_ms, granted_at, expires_at, beats,
       last_beat_at, longest_gap_ms, changed_at
  FROM unit WHERE status = 'RUNNING' AND expires_at <= ?1 ORDER BY expires_at, token LIMIT ?2
