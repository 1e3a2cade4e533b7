-- queue/events.sql: the events stored for a job, oldest first.
-- Parameters  $1 id.
-- Indexes     event_job.
select e.at, e.job, e.what, e.token, e.owner, e.attempt, e.verb, e.lost, e.reason, e.until, e.error, e.count,
       e.first_at, e.by
  from tenure.event e
 where e.job = $1
 order by e.id
