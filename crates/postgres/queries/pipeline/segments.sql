-- pipeline/segments.sql: segments of a stage, in the order of the split.
-- Parameters  $1 run, $2 stage, $3 from after which number, $4 how many
-- Reply       rows
-- Index       unit_segments
select u.id, u.run, u.pipeline, u.stage, u.segment, u.needs, u.priority, u.lease_ms, u.attempts_max, u.backoff, u.segmented,
       u.split, u.status, u.reason, u.retry_at, u.attempt, u.input, u.output, u.error, u.progress, u.record, u.token, u.owner,
       u.granted_ms, u.granted_at, u.expires_at, u.beats, u.last_beat_at, u.longest_gap_ms, u.changed_at
  from tenure.unit u where u.run = $1 and u.stage = $2 and u.segment <> '' and u.id > $3 order by u.id limit $4
