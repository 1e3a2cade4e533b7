-- Adds jobs in the order of the arrays, all or none.
-- Parameters  one array element for each job; `run_ats`, `timeouts_ms` and `backoffs` may hold nulls.
-- Reply       the ids, in that order.
create or replace function tenure.enqueue_all(
    queues text[], kinds text[], payloads text[], priorities integer[], run_ats timestamptz[],
    attempts_maxes integer[], timeouts_ms bigint[], backoffs text[]
) returns setof bigint language plpgsql as $$
declare
    now timestamptz := tenure.clock();
begin
    perform tenure.durably();
    insert into tenure.queue (name, created_at)
        select distinct q.name, now from unnest(queues) as q(name)
         where not exists (select from tenure.queue known where known.name = q.name)
         order by 1
        on conflict do nothing;
    return query
        insert into tenure.job (queue, kind, payload, priority, created_at, run_at, attempts_max, timeout_ms, backoff, place)
        select n.queue, n.kind, n.payload, n.priority, now, coalesce(n.run_at, now), n.attempts_max, n.timeout_ms,
               n.backoff::double precision[],
               case when n.run_at > now then 2 else 0 end
          from unnest(queues, kinds, payloads, priorities, run_ats, attempts_maxes, timeouts_ms, backoffs)
               with ordinality as n(queue, kind, payload, priority, run_at, attempts_max, timeout_ms, backoff, ord)
         order by n.ord
        returning id;
end $$;
