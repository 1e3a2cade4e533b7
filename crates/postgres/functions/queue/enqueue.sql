-- Adds jobs in the order of the arrays, all or none. Checks nothing: for whoever has checked what it is given, and with
-- no more rights than its caller has.
-- Parameters  one array element for each job. Arrays may hold nulls, and from `timeouts_ms` on may be null as a whole
--             where no job uses them. `bodies` are the SHA-256 of what a dedup key knows a job by.
-- Reply       the jobs, in that order; for a remembered key the job it stands for (Q7). Another body under such a key
--             raises TE003 and nothing is enqueued.
--             `beside` is true inside a transaction of the caller's own, which may stay open for long: a queue that is
--             new then gets no row, for whom others would wait; claims and lists know it by its jobs.
-- Locks       no lane and no tenant (Q9): a job that has one waits behind its gate, and touches it.
create or replace function tenure.enqueue_given(
    queues text[], kinds text[], payloads text[], priorities integer[], run_ats timestamptz[],
    attempts_maxes integer[], timeouts_ms bigint[], backoffs text[], ordering_keys text[], limit_keys text[],
    keys text[], windows_ms bigint[], bodies bytea[], beside boolean default false
) returns table (id bigint, status text, deduplicated boolean) language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
#variable_conflict use_column
declare
    now timestamptz := tenure.clock();
    ids bigint[];
    known_ids bigint[];
    gated boolean := ordering_keys is not null or limit_keys is not null;
    of_queues text[];
    of_limit_keys text[];
    of_ordering_keys text[];
    of_priorities integer[];
begin
    perform tenure.durably();

    -- Keys first, which a user's open transaction may hold: nobody should wait for a new queue's row meanwhile.
    ids := case when keys is not null or gated
                then array(select nextval('tenure.job_id') from generate_series(1, cardinality(queues))) end;
    if keys is not null then
        known_ids := case when beside then tenure.remember(queues, keys, windows_ms, bodies, ids, now)
                          else tenure.remember_soon(queues, keys, windows_ms, bodies, ids, now) end;
    end if;
    if not beside then
        insert into tenure.queue (name, created_at)
            select distinct q.name, now from unnest(queues) as q(name)
             where not exists (select from tenure.queue known where known.name = q.name)
             order by 1
            on conflict do nothing;
    end if;
    if ids is null then
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

    insert into tenure.job (id, queue, kind, payload, priority, created_at, run_at, attempts_max, timeout_ms,
                            backoff, ordering_key, limit_key, place)
    select ids[n.ord], n.queue, n.kind, n.payload, n.priority, now, coalesce(n.run_at, now), n.attempts_max,
           n.timeout_ms, n.backoff::double precision[], n.ordering_key, n.limit_key,
           case when n.run_at > now then 2
                when n.limit_key is not null or n.ordering_key is not null then 3 else 0 end
      from unnest(queues, kinds, payloads, priorities, run_ats, attempts_maxes, timeouts_ms, backoffs,
                  ordering_keys, limit_keys) with ordinality
           as n(queue, kind, payload, priority, run_at, attempts_max, timeout_ms, backoff, ordering_key, limit_key, ord)
     where known_ids is null or known_ids[n.ord] is null
     order by n.ord;
    if gated then
        -- What is not due yet touches nothing: it is behind whatever its lane has, and claims let it stand in time.
        select array_agg(n.queue), array_agg(n.limit_key), array_agg(n.ordering_key), array_agg(n.priority)
          into of_queues, of_limit_keys, of_ordering_keys, of_priorities
          from (select n.* from unnest(queues, limit_keys, ordering_keys, priorities, run_ats) with ordinality
                            as n(queue, limit_key, ordering_key, priority, run_at, ord)
                 where (n.limit_key is not null or n.ordering_key is not null)
                   and (n.run_at is null or n.run_at <= now) and (known_ids is null or known_ids[n.ord] is null)
                 order by n.ord) n;
        if of_queues is not null then
            perform tenure.touch_waiting(of_queues, of_limit_keys, of_ordering_keys, of_priorities);
        end if;
    end if;

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

-- The same for whoever may write no table, and so has perhaps not been checked by anybody: every element is held to the
-- bounds that the library has (core/bounds.rs), and refused with TE010.
-- Rights      the owner's.
create or replace function tenure.enqueue_checked(
    queues text[], kinds text[], payloads text[], priorities integer[], run_ats timestamptz[],
    attempts_maxes integer[], timeouts_ms bigint[], backoffs text[], ordering_keys text[], limit_keys text[],
    keys text[], windows_ms bigint[], bodies bytea[], beside boolean default false
) returns table (id bigint, status text, deduplicated boolean) language plpgsql
  security definer set search_path = pg_catalog, pg_temp set standard_conforming_strings = on
as $$
declare
    name_of constant text := '^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$';
    span_max constant bigint := 316224000000;
    refused text;
begin
    if cardinality(queues) > 10000 then
        perform tenure.refuse('out_of_bounds', 'at most 10000 jobs may be enqueued at once');
    end if;
    if array_lower(queues, 1) <> 1 or array_ndims(queues) <> 1 then
        perform tenure.refuse('wrong_type', 'arrays of jobs are plain lists, counted from one');
    end if;
    refused := (
        select w.field
          from unnest(queues, kinds, payloads, priorities, run_ats, attempts_maxes, timeouts_ms, backoffs,
                      ordering_keys, limit_keys, keys, windows_ms, bodies)
               as n(queue, kind, payload, priority, run_at, attempts_max, timeout_ms, backoff, ordering_key, limit_key,
                    key, window_ms, body)
         cross join lateral (select n.backoff::double precision[] as parts) b
         cross join lateral (select case
               when (n.queue ~ name_of) is not true then 'queue'
               when (n.kind ~ name_of) is not true then 'kind'
               when n.payload is null then 'payload'
               when n.priority is null then 'priority'
               when (n.attempts_max between 1 and 1000) is not true then 'attempts_max'
               when n.run_at not between timestamptz '0001-01-01 00:00:00+00'
                                     and timestamptz '9999-12-31 23:59:59.999999+00' then 'run_at'
               when n.timeout_ms not between 1 and span_max then 'timeout_ms'
               when n.backoff is not null and (cardinality(b.parts) = 4 and b.parts[1] between 0 and span_max
                    and b.parts[2] between 1 and 100 and b.parts[3] between 0 and span_max
                    and b.parts[4] between 0 and 1) is not true then 'backoff'
               when n.window_ms not between 1 and span_max then 'key_window_ms'
               when n.key is not null and (octet_length(n.body) = 32) is not true then 'key'
               when exists (select from unnest(array[n.ordering_key, n.limit_key, n.key]) as k(word)
                             where octet_length(k.word) not between 1 and 256
                                or k.word ~ '[\u0001-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]')
               then 'key, ordering_key or limit_key' end) as w(field)
         where w.field is not null limit 1);
    if refused is not null then
        perform tenure.refuse('out_of_bounds', format('`%s` of a job is missing or out of bounds', refused));
    end if;
    perform tenure.only_json('payload', payloads);
    return query select * from tenure.enqueue_given(queues, kinds, payloads, priorities, run_ats, attempts_maxes, timeouts_ms,
                                                       backoffs, ordering_keys, limit_keys, keys, windows_ms, bodies, beside);
end $$;

-- Adds jobs for whoever may: as given for those who may write the table themselves, checked for the others.
-- Rights      the caller's; they decide which of the two it is.
create or replace function tenure.enqueue_all(
    queues text[], kinds text[], payloads text[], priorities integer[], run_ats timestamptz[],
    attempts_maxes integer[], timeouts_ms bigint[], backoffs text[], ordering_keys text[], limit_keys text[],
    keys text[], windows_ms bigint[], bodies bytea[], beside boolean default false
) returns table (id bigint, status text, deduplicated boolean) language plpgsql as $$
begin
    if pg_catalog.has_table_privilege('tenure.job', 'insert') then
        return query select * from tenure.enqueue_given(queues, kinds, payloads, priorities, run_ats, attempts_maxes, timeouts_ms,
                                                       backoffs, ordering_keys, limit_keys, keys, windows_ms, bodies, beside);
    else
        return query select * from tenure.enqueue_checked(queues, kinds, payloads, priorities, run_ats, attempts_maxes, timeouts_ms,
                                                         backoffs, ordering_keys, limit_keys, keys, windows_ms, bodies, beside);
    end if;
end $$;
