-- queue/job.sql: one job, finished or not.
-- Parameters  $1 id.
-- Reply       no row if it is not on record. `attempts` are the ended ones; of a finished job all but the last.
-- Indexes     job_pkey, finished_pkey, lease_pkey, note_pkey.
select j.id, j.queue, j.kind, j.payload, j.priority, j.created_at, j.run_at, j.attempt, j.attempts_max, j.backoff,
       j.timeout_ms, j.ordering_key, j.limit_key, j.cancel_requested, case when j.running then 'running' else 'queued' end as status, null::text as reason,
       null::text as result, j.error, n.progress, n.checkpoint, j.token, j.attempts,
       l.owner, l.granted_at as claimed_at, l.expires_at, l.beats, l.last_beat_at, l.longest_gap_ms,
       null::timestamptz as finished_at, null::text as outcome, null::text as verb, null::text as final_error
  from tenure.job j
  left join tenure.lease l on j.running and l.token = j.token
  left join tenure.note n on n.job = j.id
 where j.id = $1
union all
select f.id, f.queue, f.kind, f.payload, f.priority, f.created_at, f.run_at, f.attempt, f.attempts_max, f.backoff,
       f.timeout_ms, f.ordering_key, f.limit_key, false, f.status, f.reason, f.result, f.error, f.progress, f.checkpoint, f.token, f.attempts,
       f.owner, f.claimed_at, null, f.beats, f.last_beat_at, f.longest_gap_ms,
       f.finished_at, f.outcome, f.verb, case when f.own_error then f.error end as final_error
  from tenure.finished f
 where f.id = $1
