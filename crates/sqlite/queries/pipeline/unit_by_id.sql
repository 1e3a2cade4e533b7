-- pipeline/unit_by_id.sql: one unit.
-- Guard  none.
-- In     1 id
-- Reply  one row or none
-- Index  unit's key
SELECT id, run, pipeline, stage, segment, needs, priority, lease_ms, attempts_max, backoff, segmented, split, status, reason,
       retry_at, attempt, input, output, error, progress, record, token, owner, granted_ms, granted_at, expires_at, beats,
       last_beat_at, longest_gap_ms, changed_at
  FROM unit WHERE id = ?1
