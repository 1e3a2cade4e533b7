-- pipeline/stages.sql: the stages of a run, in the order of its definition.
-- Guard  none.
-- In     1 run
-- Reply  rows
-- Index  unit_stages
SELECT id, run, pipeline, stage, segment, needs, priority, lease_ms, attempts_max, backoff, segmented, split, status, reason,
       retry_at, attempt, input, output, error, progress, record, token, owner, granted_ms, granted_at, expires_at, beats,
       last_beat_at, longest_gap_ms, changed_at
  FROM unit WHERE run = ?1 AND segment = '' ORDER BY id
