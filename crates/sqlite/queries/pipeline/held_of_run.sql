-- pipeline/held_of_run.sql: units of a run that are held.
-- Guard  runs under the write lock.
-- In     1 run
-- Reply  rows by number
-- Index  unit's keys
SELECT id, run, pipeline, stage, segment, needs, priority, lease_ms, attempts_max, backoff, segmented, split, status, reason,
       retry_at, attempt, input, output, error, progress, record, token, owner, granted_ms, granted_at, expires_at, beats,
       last_beat_at, longest_gap_ms, changed_at
  FROM unit WHERE run = ?1 AND status = 'RUNNING' ORDER BY id
