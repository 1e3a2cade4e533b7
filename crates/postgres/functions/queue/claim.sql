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
        spent := coalesce(the.rate_period = tenure.micros(now) / 1000 / the.rate_period_ms, false)
                 and the.rate_spent >= the.rate_max;
    end if;
end $$;

-- Jobs running in a queue, or with null in all of them. Leases count those that their caller finished in a transaction
-- of his own until they learn of it.
create or replace function tenure.running_of(of_queue text) returns integer language sql stable as $$
    select (coalesce((select sum(l.left_count) from tenure.lease l where of_queue is null or l.queue = of_queue), 0)
            - (select count(*) from tenure.slack s
                where (of_queue is null or s.queue = of_queue)
                  and exists (select from tenure.lease l where l.token = s.token)))::integer
$$;

-- A queue that nobody has written down yet, with the defaults.
create or replace function tenure.default_queue(of_name text, since timestamptz) returns tenure.queue
language plpgsql stable as $$
declare
    the tenure.queue;
begin
    the.name := of_name;
    the.created_at := since;
    the.paused := false;
    the.lane_on_failure := 'continue';
    the.lane_policy := 0;
    the.retention_ms := 604800000;
    the.rate_spent := 0;
    return the;
end $$;

-- The settings of a queue without a row: somebody enqueued into it in a transaction of his own. It is written down where
-- that takes no waiting. Null where there are no jobs of it either.
create or replace function tenure.settings_of(of_queue text) returns tenure.queue language plpgsql as $$
declare
    the tenure.queue;
begin
    if not exists (select from tenure.job j where j.queue = of_queue) then
        return null;
    end if;
    if pg_try_advisory_xact_lock(tenure.name_number('queue', of_queue, '')) then
        insert into tenure.queue (name, created_at) values (of_queue, tenure.clock()) on conflict do nothing;
    end if;
    select q.* into the from tenure.queue q where q.name = of_queue;
    return case when found then the else tenure.default_queue(of_queue, tenure.clock()) end;
end $$;

-- Lets scheduled jobs stand that are due, at most a thousand: a claim that finds a million pays for its share.
-- Reply  whether there may be more.
-- Index  job_scheduled.
create or replace function tenure.promote(of_queue text) returns boolean language plpgsql
as $$
declare
    n integer;
    gated record;
begin
    with due as (
        update tenure.job j
           set place = case when j.limit_key is not null or j.ordering_key is not null then 3 else 1 end
         where j.id = any (array(select d.id from tenure.job d
                                  where d.queue = of_queue and d.place = 2 and d.run_at <= tenure.clock()
                                  order by d.run_at limit 1000 for update skip locked))
        returning j.queue, j.limit_key, j.ordering_key, j.priority
    )
    select count(*) as n, array_agg(d.queue) as queues, array_agg(d.limit_key) as limit_keys,
           array_agg(d.ordering_key) as ordering_keys, array_agg(d.priority) as priorities
      into gated from due d;
    n := gated.n;
    if n > 0 then
        perform tenure.touch_waiting(gated.queues, gated.limit_keys, gated.ordering_keys, gated.priorities);
    end if;
    return n = 1000;
end $$;

-- Takes waiting jobs that have neither tenant nor lane, in the order of Q2, passing over what others have locked.
-- Parameters  `kinds` null is all; `after_*` where this process last stopped among fresh jobs, null is the full look;
--             `without` are passed over.
-- Reply       at most `wanted` ids.
-- Indexes     job_late, job_fresh. The plans are pinned, for the planner, not knowing the limit, would rather sort the
--             whole backlog; jit is off, for a pinned plan looks so dear to it that it would compile every call.
create or replace function tenure.take_late(
    of_queue text, kinds text[], wanted integer, without bigint[]
) returns bigint[] language plpgsql
as $$
begin
    return array(
        select j.id from tenure.job j
         where j.queue = of_queue and j.place = 1 and not j.running and (kinds is null or j.kind = any (kinds))
           and j.id <> all (without)
         order by j.priority desc, j.created_at, j.id limit wanted for update skip locked);
end $$;
create or replace function tenure.take_fresh(
    of_queue text, kinds text[], wanted integer, after_priority integer, after_created_at timestamptz, after_id bigint
) returns bigint[] language plpgsql
as $$
declare
    ids bigint[];
begin
    if after_id is null then
        return array(
            select j.id from tenure.job j
             where j.queue = of_queue and j.place = 0 and not j.running and (kinds is null or j.kind = any (kinds))
             order by j.priority desc, j.created_at, j.id limit wanted for update skip locked);
    end if;
    -- More urgent ones first, then from where the last claim stopped, then the less urgent.
    ids := array(
        select j.id from tenure.job j
         where j.queue = of_queue and j.place = 0 and not j.running and (kinds is null or j.kind = any (kinds))
           and j.priority > after_priority
         order by j.priority desc, j.created_at, j.id limit wanted for update skip locked);
    if cardinality(ids) < wanted then
        ids := ids || array(
            select j.id from tenure.job j
             where j.queue = of_queue and j.place = 0 and not j.running and (kinds is null or j.kind = any (kinds))
               and j.priority = after_priority and (j.created_at, j.id) > (after_created_at, after_id)
             order by j.priority desc, j.created_at, j.id limit wanted - cardinality(ids) for update skip locked);
    end if;
    if cardinality(ids) < wanted then
        ids := ids || array(
            select j.id from tenure.job j
             where j.queue = of_queue and j.place = 0 and not j.running and (kinds is null or j.kind = any (kinds))
               and j.priority < after_priority
             order by j.priority desc, j.created_at, j.id limit wanted - cardinality(ids) for update skip locked);
    end if;
    return ids;
end $$;

-- The same jobs, looked at and left alone.
create or replace function tenure.peek_plain(
    of_queue text, kinds text[], wanted integer, after_priority integer, after_created_at timestamptz, after_id bigint
) returns tenure.candidate[] language plpgsql
as $$
declare
    seen tenure.candidate[];
begin
    seen := array(
        select row(j.queue, j.priority, j.created_at, j.id, null, null)::tenure.candidate from tenure.job j
         where j.queue = of_queue and j.place = 1 and not j.running and (kinds is null or j.kind = any (kinds))
         order by j.priority desc, j.created_at, j.id limit wanted);
    if after_id is null then
        return seen || array(
            select row(j.queue, j.priority, j.created_at, j.id, null, null)::tenure.candidate from tenure.job j
             where j.queue = of_queue and j.place = 0 and not j.running and (kinds is null or j.kind = any (kinds))
             order by j.priority desc, j.created_at, j.id limit wanted);
    end if;
    return seen || array(
        select row(j.queue, j.priority, j.created_at, j.id, null, null)::tenure.candidate from tenure.job j
         where j.queue = of_queue and j.place = 0 and not j.running and (kinds is null or j.kind = any (kinds))
           and j.priority > after_priority
         order by j.priority desc, j.created_at, j.id limit wanted)
    || array(
        select row(j.queue, j.priority, j.created_at, j.id, null, null)::tenure.candidate from tenure.job j
         where j.queue = of_queue and j.place = 0 and not j.running and (kinds is null or j.kind = any (kinds))
           and j.priority = after_priority and (j.created_at, j.id) > (after_created_at, after_id)
         order by j.priority desc, j.created_at, j.id limit wanted)
    || array(
        select row(j.queue, j.priority, j.created_at, j.id, null, null)::tenure.candidate from tenure.job j
         where j.queue = of_queue and j.place = 0 and not j.running and (kinds is null or j.kind = any (kinds))
           and j.priority < after_priority
         order by j.priority desc, j.created_at, j.id limit wanted);
end $$;

-- The best of candidates, in the order of Q2.
create or replace function tenure.best_of(of_candidates tenure.candidate[], n integer) returns tenure.candidate[]
language plpgsql immutable as $$
begin
    if cardinality(of_candidates) < 2 then
        return of_candidates;
    end if;
    return array(select row(c.*)::tenure.candidate from unnest(of_candidates) c
                  order by c.priority desc, c.created_at, c.id limit n);
end $$;

-- Of candidates, those that one claim may carry (core's CLAIM_BYTES_MAX, of payload and checkpoint): the first in the order
-- of Q2, and at least one. Eight fit however large they are. Lengths are read from the rows, not the texts.
-- Indexes  job_pkey, note_pkey.
create or replace function tenure.fitting(of_candidates tenure.candidate[]) returns tenure.candidate[]
language plpgsql stable as $$
begin
    if cardinality(of_candidates) <= 8 then
        return of_candidates;
    end if;
    return array(
        select row(c.queue, c.priority, c.created_at, c.id, c.tenant, c.lane)::tenure.candidate
          from (select c.*, sum(octet_length(j.payload) + coalesce(octet_length(n.checkpoint), 0)) over w as bytes,
                       row_number() over w as nth
                  from unnest(of_candidates) c
                  join tenure.job j on j.id = c.id
                  left join tenure.note n on n.job = c.id
                window w as (order by c.priority desc, c.created_at, c.id)) c
         where c.bytes <= 16777216 or c.nth = 1
         order by c.nth);
end $$;

-- What of these jobs, which are locked, one claim may carry: where others took what was looked at, larger ones may have come
-- in their place. What passed its gate is counted there already, and stays: it was among what fits.
create or replace function tenure.still_fitting(ids bigint[]) returns bigint[] language plpgsql stable as $$
begin
    if cardinality(ids) <= 8 then
        return ids;
    end if;
    return array(
        select c.id
          from (select j.id, j.priority, j.created_at, j.place,
                       sum(octet_length(j.payload) + coalesce(octet_length(n.checkpoint), 0)) over w as bytes,
                       row_number() over w as nth
                  from tenure.job j left join tenure.note n on n.job = j.id
                 where j.id = any (ids)
                window w as (order by j.place <> 3, j.priority desc, j.created_at, j.id)) c
         where c.bytes <= 16777216 or c.nth = 1 or c.place = 3
         order by c.priority desc, c.created_at, c.id);
end $$;

-- What the gates of a queue would let pass, looked at and left alone: at most `wanted`, the best in the order of Q2.
-- Walks the open gates in that order, and stops where the next one stands behind all it has.
-- Index  gate_open; those of `due_of_tenant`.
create or replace function tenure.peek_gates(the tenure.queue, kinds text[], wanted integer, now timestamptz)
returns tenure.candidate[] language plpgsql
as $$
declare
    gate tenure.gate;
    seen tenure.candidate[] := '{}';
    last tenure.candidate;
    slots integer;
begin
    for gate in
        select g.* from tenure.gate g where g.queue = the.name and g.state = 'open' and g.tenant is null
         order by g.priority desc, g.created_at, g.head
    loop
        if cardinality(seen) >= wanted then
            seen := tenure.best_of(seen, wanted);
            last := seen[wanted];
            exit when (-gate.priority::bigint, gate.created_at, gate.head) > (-last.priority::bigint, last.created_at, last.id);
        end if;
        if gate.lane then
            if kinds is null or (select j.kind from tenure.job j where j.id = gate.head) = any (kinds) then
                seen := seen || row(the.name, gate.priority, gate.created_at, gate.head, null, gate.key)::tenure.candidate;
            end if;
        else
            slots := least(wanted, tenure.slots_of(gate, the, now));
            if slots > 0 then
                seen := seen || array(select row(d.*)::tenure.candidate
                                        from tenure.due_of_tenant(the.name, gate.key, kinds, slots) d);
            end if;
        end if;
    end loop;
    return tenure.best_of(seen, wanted);
end $$;

-- How many jobs a tenant may still have claimed; below one is none.
create or replace function tenure.slots_of(of_tenant tenure.gate, the tenure.queue, now timestamptz) returns integer
language plpgsql stable as $$
begin
    return least(coalesce(the.max_running_per_key, 2000000) - of_tenant.running,
                 coalesce(the.key_rate_max, 2000000)
                     - case when of_tenant.rate_period = tenure.micros(now) / 1000 / the.key_rate_period_ms
                            then of_tenant.rate_spent else 0 end);
end $$;

-- Takes, of candidates that gates would let pass, those that they still do: locks the gates and looks again in statements
-- after the locks (Q8; Q9: a job with a smaller id may have been committed in between), then the jobs. Never waits.
-- Reply  what it took, and counted; a gate that another transaction holds.
-- A hundred at a time: each row is compared with all that are named.
-- The caller settles the gates of what it took once these run.
create or replace function tenure.pass_gates(
    the tenure.queue, wanted tenure.candidate[], now timestamptz,
    out passed tenure.candidate[], out busy_lane boolean, out busy_key text
) language plpgsql
as $$
declare
    lanes text[];
    tenants text[];
    gates record;
    part tenure.candidate[];
    period bigint := tenure.micros(now) / 1000 / the.key_rate_period_ms;
begin
    passed := '{}';
    for nth in 1 .. cardinality(wanted) by 100 loop
        part := wanted[nth : nth + 99];
        select array_agg(distinct w.lane) filter (where w.lane is not null),
               array_agg(distinct w.tenant) filter (where w.tenant is not null)
          into lanes, tenants from unnest(part) w;
        if lanes is not null then
            select * into gates from tenure.hold_gates(the.name, true, lanes, false);
            if gates.busy <> '' then
                busy_lane := true;
                busy_key := gates.busy;
            end if;
            lanes := array(select g.key from tenure.gate g
                            where g.queue = the.name and g.lane and g.key = any (gates.held)
                              and g.state = 'open' and g.turn is null and g.blocked_by is null
                              and tenure.head_of(the.name, g.key) = g.head);
            -- One that has another head now is settled, not taken from.
            gates.held := array(select h.key from unnest(gates.held) as h(key) where h.key <> all (lanes));
            if gates.held <> '{}' then
                perform tenure.settle_lanes(the.name, gates.held);
            end if;
        end if;
        if tenants is not null then
            select * into gates from tenure.hold_gates(the.name, false, tenants, false);
            if gates.busy <> '' then
                busy_lane := false;
                busy_key := gates.busy;
            end if;
            tenants := gates.held;
        end if;
        part := array(
            select row(w.queue, w.priority, w.created_at, w.id, w.tenant, w.lane)::tenure.candidate
              from (select c.*, row_number() over (partition by c.tenant order by c.priority desc, c.created_at, c.id) as nth
                      from unnest(part) c
                     where (c.lane is null
                            or c.lane = any (lanes)
                               and exists (select from tenure.gate g where g.queue = the.name and g.lane and g.key = c.lane
                                              and g.head = c.id))
                       and (c.tenant is null or c.tenant = any (tenants))) w
             where w.tenant is null
                or w.nth <= (select tenure.slots_of(g, the, now) from tenure.gate g
                              where g.queue = the.name and not g.lane and g.key = w.tenant));
        part := array(
            select row(w.*)::tenure.candidate from unnest(part) w
             where w.id = any (array(select j.id from tenure.job j
                                      where j.id = any (array(select w.id from unnest(part) w))
                                        and j.place = 3 and not j.running
                                      order by j.id for update skip locked)));
        update tenure.gate g set turn = p.id
          from unnest(part) p
         where g.queue = the.name and g.lane and g.key = any (lanes) and g.key = p.lane;
        update tenure.gate g
           set running = g.running + p.n,
               -- Without a rate nothing is counted; what was spent of one stays, should it be set again in the same period.
               rate_period = case when the.key_rate_max is null then g.rate_period else period end,
               rate_spent = case when the.key_rate_max is null then g.rate_spent
                                 else case when g.rate_period = period then g.rate_spent else 0 end + p.n end,
               rate_at = case when the.key_rate_max is null then g.rate_at else now end
          from (select p.tenant, count(*)::integer as n from unnest(part) p where p.tenant is not null group by p.tenant) p
         where g.queue = the.name and not g.lane and g.key = any (tenants) and g.key = p.tenant;
        passed := passed || part;
    end loop;
end $$;

-- Settles the gates, which the caller holds, of those of these jobs that are in this queue: they were claimed.
create or replace function tenure.settle_taken(of_queue text, ids bigint[], now timestamptz)
returns void language plpgsql
as $$
declare
    lanes text[];
    tenants text[];
begin
    select array_agg(j.ordering_key) filter (where j.ordering_key is not null),
           array_agg(j.limit_key) filter (where j.limit_key is not null)
      into lanes, tenants
      from tenure.job j where j.id = any (ids) and j.queue = of_queue;
    if lanes is not null then
        perform tenure.settle_lanes(of_queue, lanes);
    end if;
    if tenants is not null then
        perform tenure.settle_tenants(of_queue, tenants, now);
    end if;
end $$;

-- Takes jobs that are due, in one transaction of one statement (Q2).
-- Parameters  `kinds` null is all, else in order and each once. `shared` leases all jobs of a queue together, of which the
--             first `started` begin at once. `after_*` hold, for each queue, where this process last stopped among fresh
--             jobs; nulls are the full look from the beginning, which the caller takes before it believes in "empty".
--             `seen_known` is the oldest that the caller knows of this worker's sightings in these queues; null is that it
--             does not. `wait_for` is a gate that was busy (its queue, `lane` or `tenant`, its key, which is empty for those
--             that another claim makes): the only one that is waited for, and before any other is held.
-- Reply       the jobs in the order of Q2; or one row without id that says why there are none: `busy` is that others are
--             about to take, at the gate `busy`, what there is, so that the caller should ask again. The first row has
--             `seen`, for each queue when the worker is stored as seen, if that was looked at.
-- Order       claims under way, limits, expired leases, gates, jobs, and only then the clock and the token: a number or an
--             instant from before a lock could be overtaken (L2, L5, L10). Waits for limits alone, which claims hold.
create or replace function tenure.claim(
    queues text[], kinds text[], owner text, jobs_max integer, lease_ms bigint, shared boolean, started integer,
    after_priority integer[], after_created_at timestamptz[], after_id bigint[], seen_known timestamptz default null,
    wait_for text[] default null
) returns table (
    id bigint, queue text, kind text, payload text, priority integer, attempt integer, attempts_max integer,
    token bigint, lease_expires_at timestamptz, created_at timestamptz, run_at timestamptz, timeout_ms bigint,
    checkpoint text, ordering_key text, limit_key text, fresh boolean, idle text, again_in_ms bigint,
    seen timestamptz[], busy text[]
) language plpgsql security definer set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
  set enable_hashjoin = off set enable_mergejoin = off set jit = off set lock_timeout = '8s'
  -- One plan for each statement, here and in what this calls, instead of a new one at each call.
  set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    now timestamptz;
    expires_at timestamptz;
    engine_max integer;
    one tenure.queue;
    room record;
    wanted integer;
    seen_jobs tenure.candidate[] := '{}';
    fits tenure.candidate[] := '{}';
    chosen tenure.candidate[];
    ids bigint[];
    n_late integer;
    passed record;
    settled record;
    taken bigint[] := '{}';
    tokens bigint[];
    of_queues text[];
    drawn jsonb := '{}';
    met_capacity boolean := false;
    met_rate boolean := false;
    met_pause boolean := false;
    any_gated boolean := false;
    any_rate boolean := false;
    more_due boolean := false;
    open_queues text[];
    held_queues text[];
    held record;
    opens_at timestamptz;
    seen_now timestamptz[];
    n integer;
begin
    -- Of whoever comes past the library; of the others these were checked before (core/bounds.rs).
    if (octet_length(owner) between 1 and 128 and lease_ms between 1 and 86400000) is not true then
        perform tenure.refuse('out_of_bounds', '`worker` must be 1 to 128 bytes and `lease_ms` 1 to 86400000');
    end if;
    perform tenure.durably();
    -- Whoever sets a limit where there was none waits for the claims under way, which do not count themselves (Q8).
    perform pg_advisory_xact_lock_shared(tenure.name_number('claims', c.name, ''))
       from (select '' as name union all select unnest(queues) order by 1) c;
    -- Limits are locked first and in one order, in statements of their own (Q8, L10). No row is locked without one.
    perform from tenure.engine e where e.max_running is not null for update;
    engine_max := (select e.max_running from tenure.engine e);
    perform from tenure.queue q
      where q.name = any (claim.queues) and (q.max_running is not null or q.rate_max is not null)
      order by q.name for update;
    if wait_for[3] = '' then
        perform pg_advisory_xact_lock(tenure.name_number('gates', wait_for[1], ''));
    elsif wait_for is not null then
        perform from tenure.gate g
          where g.queue = wait_for[1] and g.lane = (wait_for[2] = 'lane') and g.key = wait_for[3] for update;
    end if;

    -- Expired leases give their slots back first (L7, Q8). A bound keeps a storm from holding this claim: what is not
    -- returned goes on to count.
    for turn in 1 .. 10 loop
        exit when not exists (select from tenure.lease l
                               where (engine_max is not null or l.queue = any (claim.queues))
                                 and (l.stuck_until is null and l.expires_at <= tenure.clock()
                                      or l.stuck_until <= tenure.clock()));
        exit when (select r.leases from tenure.recover(100, case when engine_max is null then claim.queues end) r) < 100;
    end loop;

    -- One look, and another if the walk found something. With more to settle or to let stand than one look takes, the caller
    -- comes again: what was done is committed then, and every claim has its bound.
    for look in 1 .. 2 loop
        now := tenure.clock();
        wanted := jobs_max;
        seen_jobs := '{}';
        fits := '{}';
        open_queues := '{}';
        held_queues := '{}';
        more_due := false;
        busy := null;
        if engine_max is not null then
            wanted := least(wanted, engine_max - tenure.running_of(null));
            met_capacity := wanted <= 0;
        end if;
        for q in 1 .. cardinality(queues) loop
            exit when wanted <= 0;
            select * into one from tenure.queue k where k.name = queues[q];
            if not found then
                select * into one from tenure.settings_of(queues[q]);
            end if;
            continue when one.name is null;
            select * into room from tenure.room(one, wanted, now);
            met_capacity := met_capacity or room.full_up;
            met_rate := met_rate or room.spent;
            if room.spent then
                opens_at := least(opens_at, tenure.period_end(one.rate_period_ms, now));
            end if;
            met_pause := met_pause or one.paused;
            any_rate := any_rate or one.rate_max is not null;
            if not one.paused and not room.spent then
                held_queues := held_queues || one.name;
            end if;
            continue when room.free <= 0 or one.paused;
            open_queues := open_queues || one.name;

            if exists (select from tenure.job j
                        where j.queue = queues[q] and j.place = 2 and j.run_at <= tenure.clock()) then
                more_due := more_due or tenure.promote(queues[q]);
            end if;
            if exists (select from tenure.touch t where t.queue = queues[q])
               or exists (select from tenure.gate g where g.queue = queues[q] and g.look_at <= now) then
                select * into settled from tenure.settle_touched(queues[q], now);
                more_due := more_due or settled.more;
                if settled.busy_key is not null then
                    busy := array[queues[q], case when settled.busy_lane then 'lane' else 'tenant' end, settled.busy_key];
                end if;
            end if;

            if cardinality(queues) = 1
               and not exists (select from tenure.gate g
                                where g.queue = queues[1] and g.state = 'open' and g.tenant is null)
               and not exists (select from tenure.job j where j.queue = queues[1] and j.place = 1 and not j.running) then
                -- Nothing but fresh jobs: they are taken as they are found, as many as fit.
                if room.free > 8 then
                    fits := tenure.fitting(tenure.best_of(tenure.peek_plain(
                        queues[1], kinds, room.free, after_priority[1], after_created_at[1], after_id[1]), room.free));
                    room.free := greatest(1, cardinality(fits));
                end if;
                taken := tenure.take_fresh(queues[1], kinds, room.free, after_priority[1], after_created_at[1], after_id[1]);
            else
                -- Looked at first: what is not taken must not be locked, or another claim would find nothing (Q2).
                chosen := tenure.peek_plain(queues[q], kinds, room.free, after_priority[q], after_created_at[q], after_id[q]);
                if exists (select from tenure.gate g
                            where g.queue = queues[q] and g.state = 'open' and g.tenant is null) then
                    chosen := chosen || tenure.peek_gates(one, kinds, room.free, now);
                end if;
                seen_jobs := seen_jobs || tenure.best_of(chosen, room.free);
            end if;
        end loop;

        if seen_jobs <> '{}' then
            seen_jobs := tenure.fitting(tenure.best_of(seen_jobs, wanted));
            fits := seen_jobs;
            for q in 1 .. cardinality(queues) loop
                chosen := array(select row(c.*)::tenure.candidate from unnest(seen_jobs) c where c.queue = queues[q]);
                continue when chosen = '{}';
                n := cardinality(chosen);
                ids := '{}';
                if exists (select from unnest(chosen) c where c.tenant is not null or c.lane is not null) then
                    select * into one from tenure.queue k where k.name = queues[q];
                    if not found then
                        one := tenure.default_queue(queues[q], now);
                    end if;
                    select * into passed from tenure.pass_gates(one, array(
                        select row(c.*)::tenure.candidate from unnest(chosen) c
                         where c.tenant is not null or c.lane is not null), now);
                    if passed.busy_key is not null then
                        busy := array[queues[q], case when passed.busy_lane then 'lane' else 'tenant' end, passed.busy_key];
                    end if;
                    ids := array(select p.id from unnest(passed.passed) p);
                    any_gated := any_gated or ids <> '{}';
                end if;
                n_late := (select count(*) from unnest(chosen) c
                            where c.tenant is null and c.lane is null
                              and (select j.place from tenure.job j where j.id = c.id) = 1);
                if n_late > 0 then
                    ids := ids || tenure.take_late(queues[q], kinds, n_late, ids);
                end if;
                if cardinality(ids) < n then
                    ids := ids || tenure.take_fresh(queues[q], kinds, n - cardinality(ids), after_priority[q],
                                                    after_created_at[q], after_id[q]);
                end if;
                if cardinality(ids) < n then
                    ids := ids || tenure.take_late(queues[q], kinds, n - cardinality(ids), ids);
                end if;
                taken := taken || ids;
            end loop;
            taken := array(select j.id from tenure.job j where j.id = any (taken)
                            order by j.priority desc, j.created_at, j.id);
        end if;
        exit when taken <> '{}' or more_due or look > 1 or tenure.walk_gates(1000) = 0;
    end loop;

    if taken = '{}' then
        if open_queues <> '{}' then
            select * into held from tenure.tenants_hold(open_queues, claim.kinds);
            met_capacity := met_capacity or held.at_limit;
            met_rate := met_rate or held.opens_at is not null;
            opens_at := least(opens_at, held.opens_at);
        end if;
        if seen_known is null or seen_known <= now - interval '1 minute' then
            seen_now := tenure.see(claim.owner, claim.queues, claim.kinds, now);
        end if;
        return query
            select null::bigint, null::text, null::text, null::text, null::integer, null::integer, null::integer,
                   null::bigint, null::timestamptz, null::timestamptz, null::timestamptz, null::bigint, null::text,
                   null::text, null::text, null::boolean,
                   case when busy is not null or seen_jobs <> '{}' or more_due then 'busy'
                        when met_capacity then 'at_capacity' when met_rate then 'rate_limited'
                        when met_pause then 'paused' else 'empty' end,
                   (select ceil(extract(epoch from least(min(c.at), opens_at) - tenure.clock()) * 1000)::bigint
                      from tenure.next_change(open_queues, held_queues, wanted <= 0) c(at)), seen_now, busy;
        return;
    end if;

    if taken <> array(select f.id from unnest(fits) f) then
        taken := tenure.still_fitting(taken);
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
               case when c.ord = 1 then seen_now end, null::text[]
          from claimed c
         order by c.ord;
    if any_gated then
        for q in 1 .. cardinality(queues) loop
            perform tenure.settle_taken(queues[q], taken, now);
        end loop;
    end if;
end $$;

-- What holds back due jobs of tenants of these queues: whether their limit does; and if their rate does, until when.
-- Bound  a thousand tenants of each queue.
-- Index  gate_held; job_tenant; gate_within.
create or replace function tenure.tenants_hold(
    of_queues text[], kinds text[], out at_limit boolean, out opens_at timestamptz
) language sql stable
  set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off
as $$
    select coalesce(bool_or(h.state = 'full'), false), min(h.look_at) filter (where h.state = 'spent')
      from unnest(of_queues) as q(name),
           lateral (select g.* from tenure.gate g
                     where g.queue = q.name and g.state in ('full', 'spent')
                     order by g.queue, g.state, g.key limit 1000) h
     where kinds is null or exists (select from tenure.due_of_tenant(h.queue, h.key, tenants_hold.kinds, 1))
$$;
