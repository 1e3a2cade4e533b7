-- pipeline/unit.sql: one unit.
-- Guard  none.
-- In     1 run, 2 stage, 3 segment, empty for the stage itself
-- Reply  one row or none
-- Index  unit's keys
SELECT id, run, pipeline, stage, segment, needs, priority, lease_ms, attempts_max, backoff, segmented, split, status, reason,
       retry_at, attempt, input, output, error, progress, record, token, owner, granted_ms, granted_at, expires_at, beats,
       last_beat_at, longest_gap_ms, changed_at
  FROM unit WHERE run = ?1 AND stage = ?2 AND segment = ?3
