-- schedule/firings.sql: the last firings of a schedule, newest first.
-- Parameters  $1 the schedule; $2 only slots below this, or null; $3 how many at most.
-- Reply       one row each.
-- Indexes     firing_pkey.
select f.slot, f.fired_at, f.job
  from tenure.firing f
 where f.schedule = $1 and ($2::timestamptz is null or f.slot < $2)
 order by f.slot desc
 limit $3
