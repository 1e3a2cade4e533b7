-- pipeline/ready.sql: units of a stage that may be claimed, in their order.
-- Guard  runs under the write lock.
-- In     1 pipeline, 2 stage, 3 how many
-- Reply  rows
-- Index  unit_ready
SELECT id, run, pipeline, stage, segment, needs, priority, lease_ms, attempts_max, backoff, segmented, split, status, reason,
       retry_at, attempt, input, output, error, progress, record, token, owner, granted_ms, granted_at, expires_at, beats,
       last_beat_at, longest_gap_ms, changed_at
  FROM unit WHERE pipeline = ?1 AND stage = ?2 AND status = 'READY' AND open = 1 ORDER BY priority DESC, id LIMIT ?3
