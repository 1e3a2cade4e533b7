-- queue/queues.sql: queues by name, with their counts.
-- Parameters  $1 only this one, or null; $2 only names after this, or null; $3 how many at most; $4 where counting stops.
-- Reply       counts are exact up to $4 − 1.
-- Indexes     queue_pkey, job_queue, lease_expiry, finished_queue; each count reads at most $4 entries of its own state.
select q.name, q.created_at, q.paused, q.max_running, q.max_running_per_key, q.lane_on_failure, q.retention_ms,
       q.rate_max, q.rate_period_ms, q.key_rate_max, q.key_rate_period_ms,
       (select count(*) from (select from tenure.job j where j.queue = q.name and not j.running limit $4) c) as queued,
       least(tenure.running_of(q.name), $4)::bigint as running,
       (select count(*) from (select from tenure.finished f
                               where f.queue = q.name and f.status = 'completed' limit $4) c) as completed,
       (select count(*) from (select from tenure.finished f
                               where f.queue = q.name and f.status = 'failed' limit $4) c) as failed,
       (select j.created_at from tenure.job j where j.queue = q.name and not j.running
         order by j.id limit 1) as oldest_queued_at
  from tenure.queue q
 where ($1::text is null or q.name = $1) and ($2::text is null or q.name > $2)
 order by q.name
 limit $3
