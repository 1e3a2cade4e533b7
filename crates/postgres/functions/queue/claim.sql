-- What a queue still has room for. The caller holds the queue's row if it has a limit, taken in a statement before
-- this one: a snapshot from before the lock would overcount the free slots (Q8).
-- Reply  how many jobs may be claimed, at most `jobs_max`, and what stands in the way of more.
create or replace function tenure.room(
    the tenure.queue, jobs_max integer, now timestamptz,
    out free integer, out full_up boolean, out spent boolean
) language plpgsql as $$
begin
    free := jobs_max;
    full_up := false;
    spent := false;
    if the.max_running is not null then
        free := least(free, the.max_running - tenure.running_of(the.name));
        full_up := free <= 0;
    end if;
    if the.rate_max is not null then
        free := least(free, the.rate_max - case when the.rate_period = tenure.micros(now) / 1000 / the.rate_period_ms
                                               then the.rate_spent else 0 end);
        spent := free <= 0 and not full_up;
    end if;
end $$;

-- Jobs running in a queue, or with null in all of them. Leases count those that their caller finished in a transaction
-- of his own until they learn of it.
create or replace function tenure.running_of(of_queue text) returns integer language sql stable as $$
    select coalesce(sum(l.left_count - (select count(*) from tenure.slack s where s.token = l.token)), 0)::integer
      from tenure.lease l where of_queue is null or l.queue = of_queue
$$;

-- Finds waiting jobs of one queue in the order of Q2, and locks them.
-- Parameters  `kinds` null is all; `after_*` where this process last stopped among fresh jobs, null is the full look;
--             `without` are passed over.
-- Reply       at most `wanted` ids; whether any of them has a tenant or a lane.
-- Indexes     job_late, job_fresh. The plans are pinned, for the planner, not knowing the limit, would rather sort the
--             whole backlog; jit is off, for a pinned plan looks so dear to it that it would compile every call.
create or replace function tenure.find_due(
    of_queue text, kinds text[], wanted integer, after_priority integer, after_created_at timestamptz,
    after_id bigint, without bigint[], out ids bigint[], out gated boolean
) language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off
as $$
declare
    fresh bigint[];
    more bigint[];
    more_gated boolean;
    late boolean;
begin
    select array_agg(d.id), bool_or(d.gated) into ids, gated
      from (select j.id, j.limit_key is not null or j.ordering_key is not null as gated from tenure.job j
             where j.queue = of_queue and j.place = 1 and not j.running and (kinds is null or j.kind = any (kinds))
               and j.id <> all (without)
             order by j.priority desc, j.created_at, j.id limit wanted for update skip locked) d;
    late := ids is not null;
    ids := coalesce(ids, '{}');
    gated := coalesce(gated, false);
    fresh := '{}';

    if after_id is null then
        select array_agg(d.id), bool_or(d.gated) into more, more_gated
          from (select j.id, j.limit_key is not null or j.ordering_key is not null as gated from tenure.job j
                 where j.queue = of_queue and j.place = 0 and not j.running and (kinds is null or j.kind = any (kinds))
                   and j.id <> all (without)
                 order by j.priority desc, j.created_at, j.id limit wanted for update skip locked) d;
        fresh := fresh || coalesce(more, '{}');
        gated := gated or coalesce(more_gated, false);
    else
        -- More urgent ones first, then from where the last claim stopped, then the less urgent.
        select array_agg(d.id), bool_or(d.gated) into more, more_gated
          from (select j.id, j.limit_key is not null or j.ordering_key is not null as gated from tenure.job j
                 where j.queue = of_queue and j.place = 0 and not j.running and (kinds is null or j.kind = any (kinds))
                   and j.priority > after_priority and j.id <> all (without)
                 order by j.priority desc, j.created_at, j.id limit wanted for update skip locked) d;
        fresh := fresh || coalesce(more, '{}');
        gated := gated or coalesce(more_gated, false);
        if cardinality(fresh) < wanted then
            select array_agg(d.id), bool_or(d.gated) into more, more_gated
              from (select j.id, j.limit_key is not null or j.ordering_key is not null as gated from tenure.job j
                     where j.queue = of_queue and j.place = 0 and not j.running
                       and (kinds is null or j.kind = any (kinds))
                       and j.priority = after_priority and (j.created_at, j.id) > (after_created_at, after_id)
                       and j.id <> all (without)
                     order by j.priority desc, j.created_at, j.id limit wanted - cardinality(fresh) for update skip locked) d;
            fresh := fresh || coalesce(more, '{}');
            gated := gated or coalesce(more_gated, false);
        end if;
        if cardinality(fresh) < wanted then
            select array_agg(d.id), bool_or(d.gated) into more, more_gated
              from (select j.id, j.limit_key is not null or j.ordering_key is not null as gated from tenure.job j
                     where j.queue = of_queue and j.place = 0 and not j.running
                       and (kinds is null or j.kind = any (kinds))
                       and j.priority < after_priority and j.id <> all (without)
                     order by j.priority desc, j.created_at, j.id limit wanted - cardinality(fresh) for update skip locked) d;
            fresh := fresh || coalesce(more, '{}');
            gated := gated or coalesce(more_gated, false);
        end if;
    end if;
    ids := ids || fresh;
    if late then
        ids := array(select j.id from tenure.job j where j.id = any (ids) order by j.priority desc, j.created_at, j.id);
    end if;
    ids := ids[1:wanted];
end $$;

-- Lets pass, of jobs found due, those whose tenant and lane allow it; parks the others.
-- Reply  those that pass, in order; those that another transaction stands in the way of; whether a tenant's limit or
--        its rate did.
create or replace function tenure.pass_gates(
    the tenure.queue, found_ids bigint[],
    out passed bigint[], out busy bigint[], out at_limit boolean, out spent boolean
) language plpgsql as $$
declare
    one tenure.job;
    slot record;
    turn text;
begin
    passed := '{}'; busy := '{}'; at_limit := false; spent := false;
    for i in 1 .. cardinality(found_ids) loop
        select j.* into one from tenure.job j where j.id = found_ids[i];
        if one.ordering_key is not null then
            turn := tenure.take_turn(the.name, one.ordering_key, one.id);
            if turn = 'busy' then
                busy := busy || one.id;
                continue;
            elsif turn = 'wait' then
                update tenure.job j set place = 3 where j.id = one.id;
                perform tenure.open_lane(the.name, one.ordering_key);
                -- It may have stood for its tenant.
                if one.limit_key is not null then
                    perform tenure.open_tenant(the.name, one.limit_key);
                end if;
                continue;
            end if;
        end if;
        if one.limit_key is not null then
            select * into slot from tenure.take_slot(the.name, one.limit_key, the.max_running_per_key, the.key_rate_max,
                                                     the.key_rate_period_ms);
            if slot.answer <> 'ok' then
                update tenure.lane l set running = null where l.queue = the.name and l.key = one.ordering_key;
                if slot.answer = 'busy' then
                    busy := busy || one.id;
                    continue;
                end if;
                update tenure.job j set place = 3 where j.id = one.id;
                if slot.answer = 'spent' then
                    spent := true;
                    insert into tenure.arrival (queue, key, lane, at)
                    select the.name, one.limit_key, false, slot.spent_until
                     where not exists (select from tenure.arrival a where a.queue = the.name and a.key = one.limit_key
                                          and not a.lane and a.at = slot.spent_until);
                else
                    at_limit := true;
                end if;
                continue;
            end if;
        end if;
        passed := passed || one.id;
    end loop;
end $$;

-- Takes jobs that are due, in one transaction of one statement (Q2).
-- Parameters  `kinds` null is all. `shared` leases all jobs of a queue together, of which the first `started` begin
--             at once. `after_*` hold, for each queue, where this process last stopped among fresh jobs; nulls are the
--             full look from the beginning, which the caller takes before it believes in "empty". `seen_known` is the
--             oldest that the caller knows of this worker's sightings in these queues; null is that it does not.
-- Reply       the jobs in the order of Q2; or one row without id that says why there are none. The first row has
--             `seen`, for each queue when the worker is stored as seen, if that was looked at.
-- Order       limits, expired leases, the jobs with their tenants and lanes, and only then the clock and the
--             token: a number or an instant from before a lock could be overtaken (L2, L5, L10).
create or replace function tenure.claim(
    queues text[], kinds text[], owner text, jobs_max integer, lease_ms bigint, shared boolean, started integer,
    after_priority integer[], after_created_at timestamptz[], after_id bigint[], seen_known timestamptz default null
) returns table (
    id bigint, queue text, kind text, payload text, priority integer, attempt integer, attempts_max integer,
    token bigint, lease_expires_at timestamptz, created_at timestamptz, run_at timestamptz, timeout_ms bigint,
    checkpoint text, ordering_key text, limit_key text, fresh boolean, idle text, again_in_ms bigint,
    seen timestamptz[]
) language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
  set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
#variable_conflict use_column
declare
    now timestamptz;
    expires_at timestamptz;
    engine_max integer;
    one tenure.queue;
    room record;
    due record;
    gate record;
    wanted integer;
    of_queue bigint[];
    passed_over bigint[];
    taken bigint[] := '{}';
    dropped bigint[];
    tokens bigint[];
    of_queues text[];
    drawn jsonb := '{}';
    met_capacity boolean := false;
    met_rate boolean := false;
    met_pause boolean := false;
    any_gated boolean := false;
    any_rate boolean := false;
    open_queues text[] := '{}';
    held text;
    opens_at timestamptz;
    seen_now timestamptz[];
    n integer;
begin
    perform tenure.durably();
    -- Limits are locked first and in one order, in statements of their own (Q8, L10). Nothing is locked without one.
    perform from tenure.engine e where e.max_running is not null for update;
    engine_max := (select e.max_running from tenure.engine e);
    perform from tenure.queue q
      where q.name = any (claim.queues) and (q.max_running is not null or q.rate_max is not null)
      order by q.name for update;

    -- Expired leases give their slots back first (L7, Q8). A bound on each turn keeps a storm from holding this claim.
    while exists (select from tenure.lease l
                   where (engine_max is not null or l.queue = any (claim.queues))
                     and not l.stuck and l.expires_at <= tenure.clock()) loop
        exit when (select r.leases from tenure.recover(100, case when engine_max is null then claim.queues end) r) < 100;
    end loop;
    if exists (select from tenure.arrival a where a.queue = any (claim.queues) and a.at <= tenure.clock()) then
        perform tenure.look_again(claim.queues);
    end if;

    now := tenure.clock();
    if engine_max is not null then
        jobs_max := least(jobs_max, engine_max - tenure.running_of(null));
        met_capacity := jobs_max <= 0;
    end if;

    for q in 1 .. cardinality(queues) loop
        exit when jobs_max <= 0;
        select * into one from tenure.queue k where k.name = queues[q];
        continue when not found;
        select * into room from tenure.room(one, jobs_max, now);
        met_capacity := met_capacity or room.full_up;
        met_rate := met_rate or room.spent;
        if room.spent then
            opens_at := least(opens_at, tenure.period_end(one.rate_period_ms, now));
        end if;
        met_pause := met_pause or one.paused;
        any_rate := any_rate or one.rate_max is not null;
        continue when room.free <= 0 or one.paused;
        open_queues := open_queues || one.name;

        while exists (select from tenure.job j
                       where j.queue = queues[q] and j.place = 2 and j.run_at <= tenure.clock()) loop
            update tenure.job j set place = 1
             where j.id in (select d.id from tenure.job d
                             where d.queue = queues[q] and d.place = 2 and d.run_at <= tenure.clock()
                             order by d.run_at limit 1000 for update skip locked);
            get diagnostics n = row_count;
            exit when n < 1000;
        end loop;

        of_queue := '{}';
        passed_over := '{}';
        wanted := room.free;
        -- One turn unless tenants or lanes send jobs back; then on until there is enough, or nothing left to ask.
        for turn in 1 .. 100 loop
            select * into due from tenure.find_due(queues[q], kinds, wanted, after_priority[q], after_created_at[q],
                                                   after_id[q], of_queue || passed_over);
            if not due.gated then
                of_queue := of_queue || due.ids[1:room.free - cardinality(of_queue)];
                exit;
            end if;
            any_gated := true;
            select * into gate from tenure.pass_gates(one, due.ids[1:room.free - cardinality(of_queue)]);
            of_queue := of_queue || gate.passed;
            passed_over := passed_over || gate.busy;
            met_capacity := met_capacity or gate.at_limit;
            met_rate := met_rate or gate.spent;
            if gate.spent then
                opens_at := least(opens_at, tenure.period_end(one.key_rate_period_ms, now));
            end if;
            exit when cardinality(of_queue) >= room.free or due.ids = '{}';
            wanted := room.free - cardinality(of_queue);
        end loop;
        taken := taken || of_queue;
    end loop;

    if taken = '{}' then
        held := tenure.tenants_hold(open_queues, claim.kinds);
        met_capacity := met_capacity or coalesce(held = 'full', false);
        met_rate := met_rate or coalesce(held = 'spent', false);
        if held = 'spent' then
            opens_at := least(opens_at, (select min(tenure.period_end(k.key_rate_period_ms, now)) from tenure.queue k
                                          where k.name = any (open_queues)));
        end if;
        if seen_known is null or seen_known <= now - interval '1 minute' then
            seen_now := tenure.see(claim.owner, claim.queues, claim.kinds, now);
        end if;
        return query
            select null::bigint, null::text, null::text, null::text, null::integer, null::integer, null::integer,
                   null::bigint, null::timestamptz, null::timestamptz, null::timestamptz, null::bigint, null::text,
                   null::text, null::text, null::boolean,
                   case when met_capacity then 'at_capacity' when met_rate then 'rate_limited'
                        when met_pause then 'paused' else 'empty' end,
                   (select ceil(extract(epoch from least(min(c.at), opens_at) - tenure.clock()) * 1000)::bigint
                      from tenure.next_change(claim.queues) c(at)), seen_now;
        return;
    end if;
    if any_gated or cardinality(queues) > 1 then
        of_queue := array(select j.id from tenure.job j where j.id = any (taken)
                           order by j.priority desc, j.created_at, j.id);
        taken := of_queue[1:jobs_max];
        dropped := of_queue[jobs_max + 1:];
        if any_gated and dropped <> '{}' then
            -- Another queue had more urgent ones: the slots, turns and rates they took are given back.
            perform tenure.give_back(dropped);
        end if;
    end if;

    now := tenure.clock();
    expires_at := tenure.later(now, lease_ms);
    n := cardinality(taken);
    if cardinality(queues) = 1 then
        of_queues := array_fill(queues[1], array[n]);
        if shared then
            tokens := array_fill((tenure.draw_tokens(1))[1], array[n]);
        end if;
    else
        of_queues := array(select j.queue from unnest(taken) with ordinality as t(id, ord)
                             join tenure.job j on j.id = t.id order by t.ord);
        if shared then
            -- A grant covers one queue; tokens are drawn in the order in which the queues first appear.
            for i in 1 .. n loop
                if not drawn ? of_queues[i] then
                    drawn := drawn || jsonb_build_object(of_queues[i], (tenure.draw_tokens(1))[1]);
                end if;
                tokens := tokens || (drawn ->> of_queues[i])::bigint;
            end loop;
        end if;
    end if;
    if shared then
        insert into tenure.lease (token, owner, queue, units, started, left_count, lease_ms, granted_at, expires_at)
        select g.token, claim.owner, g.queue, array_agg(g.id order by g.ord),
               count(*) filter (where g.ord <= claim.started), count(*), claim.lease_ms, now, deadline.at
          from unnest(taken, of_queues, tokens) with ordinality as g(id, queue, token, ord),
               (select expires_at as at) deadline
         group by g.token, g.queue, deadline.at;
    else
        tokens := tenure.draw_tokens(n);
        insert into tenure.lease (token, owner, queue, units, started, left_count, lease_ms, granted_at, expires_at,
                                  ends_at)
        select g.token, claim.owner, g.queue, array[g.id], 1, 1, claim.lease_ms, now,
               least(deadline.at, tenure.later(now, j.timeout_ms)), tenure.later(now, j.timeout_ms)
          from unnest(taken, of_queues, tokens) as g(id, queue, token)
          join tenure.job j on j.id = g.id,
               (select expires_at as at) deadline;
    end if;
    if any_rate then
        update tenure.queue q
           set rate_period = tenure.micros(now) / 1000 / q.rate_period_ms,
               rate_spent = case when q.rate_period = tenure.micros(now) / 1000 / q.rate_period_ms
                                 then q.rate_spent else 0 end + c.n
          from (select u.name, count(*) as n from unnest(of_queues) as u(name) group by u.name) c
         where q.name = c.name and q.rate_max is not null;
    end if;
    if seen_known is null or seen_known <= now - interval '1 minute' then
        seen_now := tenure.see(claim.owner, claim.queues, claim.kinds, now);
    end if;

    return query
        with claimed as (
            update tenure.job j
               set running = true, token = t.token, attempt = j.attempt + 1
              from unnest(taken, tokens) with ordinality as t(id, token, ord)
             where j.id = t.id
            returning j.*, t.ord
        )
        select c.id, c.queue, c.kind, c.payload, c.priority, c.attempt, c.attempts_max, c.token,
               case when shared or c.timeout_ms is null then expires_at
                    else least(expires_at, tenure.later(now, c.timeout_ms)) end,
               c.created_at, c.run_at, c.timeout_ms,
               -- A fresh job was never claimed before, so nobody left it a checkpoint.
               case when c.place <> 0 then (select n.checkpoint from tenure.note n where n.job = c.id) end,
               c.ordering_key, c.limit_key, c.place = 0, null::text, null::bigint,
               case when c.ord = 1 then seen_now end
          from claimed c
         order by c.ord;
end $$;

-- What holds back due jobs of tenants: `full` their limit, `spent` their rate; the first that applies.
create or replace function tenure.tenants_hold(of_queues text[], kinds text[]) returns text
language sql stable as $$
    select h.held
      from (select case when t.running >= q.max_running_per_key then 'full'
                        when t.rate_spent >= q.key_rate_max
                             and t.rate_period = tenure.micros(tenure.clock()) / 1000 / q.key_rate_period_ms
                        then 'spent' end as held
              from tenure.queue q join tenure.tenant t on t.queue = q.name
             where q.name = any (of_queues)
               and exists (select from tenure.job j
                            where j.queue = t.queue and j.limit_key = t.key and j.place = 3
                              and j.run_at <= tenure.clock() and (kinds is null or j.kind = any (kinds))
                              and (j.ordering_key is null
                                   or j.id = (select h.id from tenure.job h
                                               where h.queue = j.queue and h.ordering_key = j.ordering_key
                                               order by h.id limit 1)
                                      and not exists (select from tenure.lane l
                                                       where l.queue = j.queue and l.key = j.ordering_key
                                                         and (l.running is not null or l.blocked_by is not null))))) h
     where h.held is not null
     order by h.held
     limit 1
$$;
