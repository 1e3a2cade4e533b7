-- queue/queues.sql: queues by name, with their counts.
-- Parameters  $1 only this one, or null; $2 only names after this, or null; $3 how many at most; $4 where counting stops.
-- Reply       counts are exact up to $4 − 1.
-- Indexes     queue_pkey, job_queue, lease_expiry, finished_queue; each count reads at most $4 entries of its own state.
select q.name, q.created_at, q.paused, q.max_running, q.max_running_per_key, q.lane_on_failure, q.retention_ms,
       q.rate_max, q.rate_period_ms, q.key_rate_max, q.key_rate_period_ms,
       c.queued, c.running, c.completed, c.failed, c.oldest_queued_at
  from tenure.known_queues($1, $2, $3) q,
       tenure.count_up_to(q.name, $4) c
 order by q.name
