-- pipeline/events.sql: the last events of a run.
-- Parameters  $1 run, $2 how many
-- Reply       rows, newest first
-- Index       unit_event_run
select e.run, e.at, e.stage, e.segment, e.what, e.token, e.owner, e.attempt, e.verb, e.lost, e.reason, e.until, e.error, e.count,
       e.first_at, e.by
  from tenure.unit_event e where e.run = $1 order by e.id desc limit $2
