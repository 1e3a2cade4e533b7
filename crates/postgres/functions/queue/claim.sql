-- Takes jobs that are due, in one transaction of one statement (Q2).
-- Parameters  `kinds` null is all. `shared` leases all jobs of a queue together, of which the first `started` begin
--             at once. `after_*` hold, for each queue, where this process last stopped among fresh jobs; nulls are the
--             full look from the beginning, which the caller takes before it believes in "empty".
-- Reply       the jobs in the order of Q2; or one row without id that says why there are none.
-- Order       epoch, expired leases, scheduled jobs, the jobs themselves, and only then the clock and the token: a
--             number or an instant from before a lock could be overtaken (L2, L5).
-- Indexes     job_late, job_fresh, job_scheduled, lease_expiry. The plans are pinned, for the planner, not knowing the
--             limit, would rather sort the whole backlog; jit is off, for a pinned plan looks so dear to it that it
--             would compile every call.
create or replace function tenure.claim(
    queues text[], kinds text[], owner text, jobs_max integer, lease_ms bigint, shared boolean, started integer,
    after_priority integer[], after_created_at timestamptz[], after_id bigint[]
) returns table (
    id bigint, queue text, kind text, payload text, priority integer, attempt integer, attempts_max integer,
    token bigint, lease_expires_at timestamptz, created_at timestamptz, run_at timestamptz, timeout_ms bigint,
    checkpoint text, fresh boolean, idle text, again_in_ms bigint
) language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
  set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
#variable_conflict use_column
declare
    epoch_now bigint;
    now timestamptz;
    expires_at timestamptz;
    taken bigint[] := '{}';
    found_late bigint[];
    found_fresh bigint[];
    tokens bigint[];
    of_queues text[];
    drawn jsonb := '{}';
    sorted boolean := cardinality(queues) = 1;
    n integer;
begin
    perform tenure.durably();
    select e.epoch into epoch_now from tenure.epoch e
     where e.timeline = left(pg_walfile_name(pg_current_wal_lsn()), 8)
       and e.server_started_at = pg_postmaster_start_time();
    if not found then
        raise exception 'tenure: the server was restarted or replaced' using errcode = 'TE001';
    end if;

    -- A bound on each turn keeps a storm of expiries from holding this claim; one that finds nothing asks again.
    while exists (select from tenure.lease l
                   where l.queue = any (claim.queues) and not l.stuck and l.expires_at <= tenure.clock()) loop
        exit when (select r.leases from tenure.recover(100, claim.queues) r) < 100;
    end loop;

    for q in 1 .. cardinality(queues) loop
        while exists (select from tenure.job j
                       where j.queue = queues[q] and j.place = 2 and j.run_at <= tenure.clock() and not j.running) loop
            update tenure.job j set place = 1
             where j.id in (select d.id from tenure.job d
                             where d.queue = queues[q] and d.place = 2 and d.run_at <= tenure.clock()
                             order by d.run_at limit 1000 for update skip locked);
            get diagnostics n = row_count;
            exit when n < 1000;
        end loop;

        found_late := array(
            select j.id from tenure.job j
             where j.queue = queues[q] and j.place = 1 and not j.running and (kinds is null or j.kind = any (kinds))
             order by j.priority desc, j.created_at, j.id limit jobs_max for update skip locked);
        sorted := sorted and found_late = '{}';

        if after_id[q] is null then
            found_fresh := array(
                select j.id from tenure.job j
                 where j.queue = queues[q] and j.place = 0 and not j.running and (kinds is null or j.kind = any (kinds))
                 order by j.priority desc, j.created_at, j.id limit jobs_max for update skip locked);
        else
            found_fresh := array(
                select j.id from tenure.job j
                 where j.queue = queues[q] and j.place = 0 and not j.running and (kinds is null or j.kind = any (kinds))
                   and j.priority > after_priority[q]
                 order by j.priority desc, j.created_at, j.id limit jobs_max for update skip locked);
            if cardinality(found_fresh) < jobs_max then
                found_fresh := found_fresh || array(
                    select j.id from tenure.job j
                     where j.queue = queues[q] and j.place = 0 and not j.running
                       and (kinds is null or j.kind = any (kinds))
                       and j.priority = after_priority[q]
                       and (j.created_at, j.id) > (after_created_at[q], after_id[q])
                     order by j.priority desc, j.created_at, j.id
                     limit jobs_max - cardinality(found_fresh) for update skip locked);
            end if;
            if cardinality(found_fresh) < jobs_max then
                found_fresh := found_fresh || array(
                    select j.id from tenure.job j
                     where j.queue = queues[q] and j.place = 0 and not j.running
                       and (kinds is null or j.kind = any (kinds))
                       and j.priority < after_priority[q]
                     order by j.priority desc, j.created_at, j.id
                     limit jobs_max - cardinality(found_fresh) for update skip locked);
            end if;
        end if;
        taken := taken || found_late || found_fresh;
    end loop;

    if taken = '{}' then
        return query
            select null::bigint, null::text, null::text, null::text, null::integer, null::integer, null::integer,
                   null::bigint, null::timestamptz, null::timestamptz, null::timestamptz, null::bigint, null::text,
                   null::boolean, 'empty',
                   (select ceil(extract(epoch from min(c.at) - tenure.clock()) * 1000)::bigint from tenure.next_change(claim.queues) c(at));
        return;
    end if;
    if not sorted then
        taken := array(select j.id from tenure.job j where j.id = any (taken)
                        order by j.priority desc, j.created_at, j.id limit jobs_max);
    end if;

    now := tenure.clock();
    expires_at := tenure.later(now, lease_ms);
    n := cardinality(taken);
    if cardinality(queues) = 1 then
        of_queues := array_fill(queues[1], array[n]);
        if shared then
            tokens := array_fill((epoch_now << 40) | nextval('tenure.grant_counter'), array[n]);
        end if;
    else
        of_queues := array(select j.queue from unnest(taken) with ordinality as t(id, ord)
                             join tenure.job j on j.id = t.id order by t.ord);
        if shared then
            -- A grant covers one queue; tokens are drawn in the order in which the queues first appear.
            for i in 1 .. n loop
                if not drawn ? of_queues[i] then
                    drawn := drawn || jsonb_build_object(of_queues[i], (epoch_now << 40) | nextval('tenure.grant_counter'));
                end if;
                tokens := tokens || (drawn ->> of_queues[i])::bigint;
            end loop;
        end if;
    end if;
    if not shared then
        tokens := array(select (epoch_now << 40) | nextval('tenure.grant_counter') from generate_series(1, n));
    end if;

    insert into tenure.lease (token, owner, queue, units, started, left_count, lease_ms, granted_at, expires_at)
    select g.token, claim.owner, g.queue, array_agg(g.id order by g.ord),
           case when shared then count(*) filter (where g.ord <= claim.started) else 1 end,
           count(*), claim.lease_ms, now, claim_expiry.at
      from unnest(taken, of_queues, tokens) with ordinality as g(id, queue, token, ord),
           (select expires_at as at) claim_expiry
     group by g.token, g.queue, claim_expiry.at;

    return query
        with claimed as (
            update tenure.job j
               set running = true, token = t.token, attempt = j.attempt + 1
              from unnest(taken, tokens) with ordinality as t(id, token, ord)
             where j.id = t.id
            returning j.*, t.ord
        )
        select c.id, c.queue, c.kind, c.payload, c.priority, c.attempt, c.attempts_max, c.token, expires_at,
               c.created_at, c.run_at, c.timeout_ms, n.checkpoint, c.place = 0, null::text, null::bigint
          from claimed c left join tenure.note n on n.job = c.id
         order by c.ord;
end $$;
