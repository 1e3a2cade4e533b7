-- pipeline/stages.sql: the stages of a run, in the order of its definition, with the counts of their segments.
-- Parameters  $1 run
-- Reply       rows
-- Index       unit_stages, unit_segments
select u.id, u.run, u.pipeline, u.stage, u.segment, u.needs, u.priority, u.lease_ms, u.attempts_max, u.backoff, u.segmented,
       u.split, u.status, u.reason, u.retry_at, u.attempt, u.input, u.output, u.error, u.progress, u.record, u.token, u.owner,
       u.granted_ms, u.granted_at, u.expires_at, u.beats, u.last_beat_at, u.longest_gap_ms, u.changed_at,
       (select jsonb_object_agg(c.status, c.n)
          from (select s.status, count(*) as n from tenure.unit s
                 where u.split and s.run = u.run and s.stage = u.stage and s.segment <> '' group by s.status) c) as segments
  from tenure.unit u where u.run = $1 and u.segment = '' order by u.id
