-- queue/jobs.sql: jobs that match, newest first.
-- Parameters  $1 queue or null, $2 status or null, $3 kind or null, $4 only ids below this, $5 how many at most.
-- Reply       as queue/job.sql, with `found`, how many there are; those of them that one page may carry (core's
--             PAGE_BYTES_MAX), and at least one.
-- Indexes     those of tenure.list_ids; then the primary keys.
with found as materialized (select tenure.list_ids($1, $2, $3, $4, $5) as ids)
select * from (select listed.*, count(*) over () as found, row_number() over w as nth,
       sum(octet_length(payload) + coalesce(octet_length(result), 0) + coalesce(octet_length(progress), 0)
           + coalesce(octet_length(checkpoint), 0)) over w as bytes
  from (
    (select j.id, j.queue, j.kind, j.payload, j.priority, j.created_at, j.run_at, j.attempt, j.attempts_max, j.backoff,
           j.timeout_ms, j.ordering_key, j.limit_key, j.cancel_requested, case when j.running then 'running' else 'queued' end as status, null::text as reason,
           null::text as result, j.error, n.progress, n.checkpoint, j.token, j.attempts,
           l.owner, l.granted_at as claimed_at, l.expires_at, l.beats, l.last_beat_at, l.longest_gap_ms,
           null::timestamptz as finished_at, null::text as outcome, null::text as verb, null::text as final_error
      from tenure.job j
      left join tenure.lease l on j.running and l.token = j.token
      left join tenure.note n on n.job = j.id
     where j.id = any (array(select unnest(ids) from found)))
    union all
    (select f.id, f.queue, f.kind, f.payload, f.priority, f.created_at, f.run_at, f.attempt, f.attempts_max, f.backoff,
           f.timeout_ms, f.ordering_key, f.limit_key, false, f.status, f.reason, f.result, f.error, f.progress, f.checkpoint, f.token, f.attempts,
           f.owner, f.claimed_at, null, f.beats, f.last_beat_at, f.longest_gap_ms,
           f.finished_at, f.outcome, f.verb, case when f.own_error then f.error end as final_error
      from tenure.finished f
     where f.id = any (array(select unnest(ids) from found)))
) listed
window w as (order by id desc)) page
 where bytes <= 16777216 or nth = 1
 order by id desc
