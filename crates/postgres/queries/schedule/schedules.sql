-- schedule/schedules.sql: schedules by name.
-- Parameters  $1 only this one, or null; $2 only names after this, or null; $3 how many at most.
-- Reply       one row each.
-- Indexes     schedule_pkey.
select s.name, s.revision, s.created_at, s.updated_at, s.next_at, s.last_slot, s.last_fired_at, s.last_job, s.fired,
       s.missed, s.missed_at, s.paused, s.catch_up, s.cron, s.zone, s.queue, s.kind, s.payload, s.priority,
       s.attempts_max, s.timeout_ms, s.backoff, s.ordering_key, s.limit_key
  from tenure.schedule s
 where ($1::text is null or s.name = $1) and ($2::text is null or s.name > $2)
 order by s.name
 limit $3
