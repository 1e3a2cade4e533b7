-- Adds jobs in the order of the arrays, all or none.
-- Parameters  one array element for each job. Arrays may hold nulls, and from `timeouts_ms` on may be null as a whole
--             where no job uses them. `bodies` are the SHA-256 of what a dedup key knows a job by.
-- Reply       the jobs, in that order; for a remembered key the job it stands for (Q7). Another body under such a key
--             raises TE003 and nothing is enqueued.
-- Locks       no lane and no tenant (Q9): a job that finds its tenant or lane closed is parked, and says so in
--             `arrival`, for they may open before this commits.
create or replace function tenure.enqueue_all(
    queues text[], kinds text[], payloads text[], priorities integer[], run_ats timestamptz[],
    attempts_maxes integer[], timeouts_ms bigint[], backoffs text[], ordering_keys text[], limit_keys text[],
    keys text[], windows_ms bigint[], bodies bytea[]
) returns table (id bigint, status text, deduplicated boolean) language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
#variable_conflict use_column
declare
    now timestamptz := tenure.clock();
    ids bigint[];
    known_ids bigint[];
    gated boolean := ordering_keys is not null or limit_keys is not null;
begin
    perform tenure.durably();
    insert into tenure.queue (name, created_at)
        select distinct q.name, now from unnest(queues) as q(name)
         where not exists (select from tenure.queue known where known.name = q.name)
         order by 1
        on conflict do nothing;

    if keys is null and not gated then
        return query
            insert into tenure.job as j (queue, kind, payload, priority, created_at, run_at, attempts_max, timeout_ms,
                                         backoff, place)
            select n.queue, n.kind, n.payload, n.priority, now, coalesce(n.run_at, now), n.attempts_max, n.timeout_ms,
                   n.backoff::double precision[],
                   case when n.run_at > now then 2 else 0 end
              from unnest(queues, kinds, payloads, priorities, run_ats, attempts_maxes, timeouts_ms, backoffs)
                   with ordinality as n(queue, kind, payload, priority, run_at, attempts_max, timeout_ms, backoff, ord)
             order by n.ord
            returning j.id, 'queued'::text, false;
        return;
    end if;

    ids := array(select nextval('tenure.job_id') from generate_series(1, cardinality(queues)));
    if keys is not null then
        known_ids := tenure.remember(queues, keys, windows_ms, bodies, ids, now);
    end if;
    with n as (
        select n.*, ids[n.ord] as new_id,
               row_number() over (partition by n.queue, n.ordering_key order by n.ord) as nth_of_lane
          from unnest(queues, kinds, payloads, priorities, run_ats, attempts_maxes, timeouts_ms, backoffs,
                      ordering_keys, limit_keys) with ordinality
               as n(queue, kind, payload, priority, run_at, attempts_max, timeout_ms, backoff, ordering_key, limit_key,
                    ord)
         where known_ids is null or known_ids[n.ord] is null
    ), closed_tenant as materialized (
        select t.queue, t.limit_key
          from (select distinct n.queue, n.limit_key from n where n.limit_key is not null) t
          join tenure.queue q on q.name = t.queue and q.max_running_per_key is not null
         where exists (select from tenure.tenant k
                        where k.queue = t.queue and k.key = t.limit_key and k.running >= q.max_running_per_key)
            or exists (select from tenure.job j where j.queue = t.queue and j.limit_key = t.limit_key and j.place = 3)
    ), closed_lane as materialized (
        select l.queue, l.ordering_key
          from (select distinct n.queue, n.ordering_key from n where n.ordering_key is not null) l
         where exists (select from tenure.job j where j.queue = l.queue and j.ordering_key = l.ordering_key)
            or exists (select from tenure.lane k where k.queue = l.queue and k.key = l.ordering_key)
    ), placed as (
        select n.*,
               case when n.run_at > now then 2
                    when n.limit_key is not null
                         and exists (select from closed_tenant c where (c.queue, c.limit_key) = (n.queue, n.limit_key)) then 3
                    when n.ordering_key is not null
                         and (n.nth_of_lane > 1
                              or exists (select from closed_lane c
                                          where (c.queue, c.ordering_key) = (n.queue, n.ordering_key))) then 3
                    else 0 end as place
          from n
    ), added as (
        insert into tenure.job (id, queue, kind, payload, priority, created_at, run_at, attempts_max, timeout_ms,
                                backoff, ordering_key, limit_key, place)
        select p.new_id, p.queue, p.kind, p.payload, p.priority, now, coalesce(p.run_at, now), p.attempts_max,
               p.timeout_ms, p.backoff::double precision[], p.ordering_key, p.limit_key, p.place
          from placed p order by p.ord
    )
    insert into tenure.arrival (queue, key, lane, at)
    select distinct a.queue, a.key, a.lane, now
      from (select p.queue, p.limit_key as key, false as lane from placed p where p.place = 3
            union all
            select p.queue, p.ordering_key, true from placed p where p.place = 3) a
     where a.key is not null;

    return query
        select coalesce(known_ids[o], ids[o]),
               case when known_ids[o] is null then 'queued' else
                   coalesce((select case when j.running then 'running' else 'queued' end
                               from tenure.job j where j.id = known_ids[o]),
                            (select f.status from tenure.finished f where f.id = known_ids[o]),
                            (select d.ended from tenure.dedup d where d.queue = queues[o] and d.key = keys[o]))
               end,
               known_ids[o] is not null
          from generate_subscripts(queues, 1) as o order by o;
end $$;
