-- Gates: tenants and lanes, and what they let pass (Q8, Q9).
--
-- A job with a tenant or a lane waits behind its gate, and only the gate stands where claims look. Two rules keep it so:
-- whoever changes such a job (enqueue, finish, recovery, an operator) leaves a touch, takes no lock of a gate and waits for
-- nobody; and only `settle_lanes` and `settle_tenants`, under the gate's lock, say where it stands. A user's transaction
-- that stays open therefore holds up what it ended, and nothing else.
--
-- A touch is a hint. What none told of, `walk_gates` finds within a minute.
--
-- The functions here that set nothing are called by `tenure.claim` alone, which has pinned the plans for all of them.

-- The number under which a row is made by one transaction at a time. Two names that share one only take turns.
create or replace function tenure.name_number(what text, of_queue text, of_key text) returns bigint
language sql immutable parallel safe as $$
    select hashtextextended('tenure ' || what || ' ' || of_queue || ' ' || of_key, 0)
$$;

-- Says that jobs which ran have ended or wait again: their tenants' slots and their lanes' turns are free.
-- Parameters  one array element for each job; `blocks` where it failed for good.
create or replace function tenure.touch_ended(
    of_jobs bigint[], of_queues text[], of_limit_keys text[], of_ordering_keys text[], blocks boolean[]
) returns void language plpgsql set plan_cache_mode = force_generic_plan as $$
begin
    insert into tenure.touch (queue, lane, key, freed)
    select g.queue, false, g.limit_key, count(*)
      from unnest(of_queues, of_limit_keys) as g(queue, limit_key)
     where g.limit_key is not null group by g.queue, g.limit_key;
    insert into tenure.touch (queue, lane, key, failed, policy)
    select g.queue, true, g.ordering_key, case when q.name is not null then g.job end, q.lane_policy
      from unnest(of_jobs, of_queues, of_ordering_keys, blocks) as g(job, queue, ordering_key, blocks)
      left join tenure.queue q on q.name = g.queue and g.blocks and q.lane_on_failure = 'block'
     where g.ordering_key is not null;
end $$;

-- Says that jobs have come to wait, or no longer do. A job that is in a lane says so to its lane alone, whose head says it
-- to the tenant.
create or replace function tenure.touch_waiting(
    of_queues text[], of_limit_keys text[], of_ordering_keys text[], of_priorities integer[]
) returns void language plpgsql set plan_cache_mode = force_generic_plan as $$
begin
    insert into tenure.touch (queue, lane, key, priority)
    select g.queue, g.ordering_key is not null, coalesce(g.ordering_key, g.limit_key), max(g.priority)
      from unnest(of_queues, of_limit_keys, of_ordering_keys, of_priorities) with ordinality
           as g(queue, limit_key, ordering_key, priority, ord)
     where g.ordering_key is not null or g.limit_key is not null
     group by 1, 2, 3
     -- In the order of the jobs, which is the order in which they are looked at.
     order by min(g.ord);
end $$;

-- The first job of a lane. Without a search path of its own, which would be set and put back for each of a thousand lanes:
-- all that it compares is of the very types that PostgreSQL's operators have.
-- Index  job_lane, by a range of its whole key: asked for a lane "by id", the planner may walk the primary key instead.
create or replace function tenure.head_of(of_queue text, of_key text) returns bigint language plpgsql stable
  set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off
as $$
begin
    return (select j.id from tenure.job j
             where j.ordering_key is not null
               and (j.queue, j.ordering_key, j.id) > (of_queue, of_key, 0)
               and (j.queue, j.ordering_key, j.id) <= (of_queue, of_key, 9223372036854775807)
             order by j.queue, j.ordering_key, j.id limit 1);
end $$;

-- What a tenant would let pass, in the order of Q2: at most `n` of its jobs that are in no lane, kind by kind, and of the
-- lanes that stand within it.
-- Parameters  `kinds` null is all.
-- Indexes     job_tenant, by ranges of its key; gate_within.
create or replace function tenure.due_of_tenant(of_queue text, of_key text, kinds text[], n integer)
returns setof tenure.candidate language plpgsql stable
as $$
declare
    found_due tenure.candidate[] := '{}';
    of_kind text;
    nth integer := 0;
    asked constant boolean := kinds is not null;
begin
    loop
        if asked then
            nth := nth + 1;
            of_kind := kinds[nth];
        else
            of_kind := (select j.kind from tenure.job j
                         where j.queue = of_queue and j.limit_key = of_key and j.place = 3 and j.ordering_key is null
                           and j.kind > coalesce(of_kind, '')
                         order by j.kind limit 1);
        end if;
        exit when of_kind is null;
        found_due := found_due || array(
            select row(of_queue, j.priority, j.created_at, j.id, of_key, null)::tenure.candidate from tenure.job j
             where j.queue = of_queue and j.limit_key = of_key and j.kind = of_kind and j.place = 3
               and j.ordering_key is null and not j.running
             order by j.priority desc, j.created_at, j.id limit n);
    end loop;
    found_due := found_due || array(
        select row(of_queue, g.priority, g.created_at, g.head, of_key, g.key)::tenure.candidate from tenure.gate g
         where g.queue = of_queue and g.tenant = of_key and g.state = 'open'
           and (not asked or (select j.kind from tenure.job j where j.id = g.head) = any (kinds))
         order by g.priority desc, g.created_at, g.head limit n);
    return query select d.* from unnest(found_due) d order by d.priority desc, d.created_at, d.id limit n;
end $$;

-- Locks gates and, if asked to, makes those that are not there. Never waits.
-- Reply  the keys of those it holds now; and of those that another transaction holds, one: '' stands for all that another
--        may be making, one transaction at a time in each queue.
create or replace function tenure.hold_gates(
    of_queue text, of_lane boolean, keys text[], make boolean, out held text[], out busy text
) language plpgsql as $$
declare
    missing text[];
begin
    held := array(select g.key from tenure.gate g
                   where g.queue = of_queue and g.lane = of_lane and g.key = any (keys) order by g.key
                     for update skip locked);
    if cardinality(held) = cardinality(keys) then
        return;
    end if;
    missing := array(select k.key from unnest(keys) as k(key) where k.key <> all (held));
    if make and pg_try_advisory_xact_lock(tenure.name_number('gates', of_queue, '')) then
        -- In a statement after that: who made one before has committed by now, and it is seen.
        with made as (
            insert into tenure.gate (queue, lane, key)
            select of_queue, of_lane, m.key from unnest(missing) as m(key)
             where not exists (select from tenure.gate g where g.queue = of_queue and g.lane = of_lane and g.key = m.key)
            returning key
        )
        select held || coalesce(array_agg(m.key), '{}') into held from made m;
        busy := (select m.key from unnest(missing) as m(key) where m.key <> all (held) limit 1);
    else
        busy := coalesce((select g.key from tenure.gate g
                           where g.queue = of_queue and g.lane = of_lane and g.key = any (missing) limit 1), '');
    end if;
end $$;

-- Says where lanes stand, which the caller holds. One that nothing waits in, runs in or stopped is forgotten.
-- Tenants whose lanes moved are touched.
-- Indexes  touch_gate, gate_pkey, job_lane, job_pkey. The gates are named wherever they are written: a plan made while there
--          were few of them must not read all once there are many. A hundred at a time: each row is compared with all that
--          are named.
create or replace function tenure.settle_lanes(of_queue text, keys text[]) returns void language plpgsql
as $$
declare
    part text[];
begin
    for nth in 1 .. cardinality(keys) by 100 loop
        part := keys[nth : nth + 99];
        with come as (
            delete from tenure.touch t where t.queue = of_queue and t.lane and t.key = any (part)
            returning t.key, t.failed, t.policy, t.retried
        ), changed as (
            -- A job that an operator put back no longer stops its lane; it cannot have failed again before this.
            select c.key,
                   max(c.failed) filter (where q.name is not null
                                           and not exists (select from come r where r.retried = c.failed)) as failed,
                   array_agg(c.retried) filter (where c.retried is not null) as retried
              from come c left join tenure.queue q on q.name = of_queue and q.lane_on_failure = 'block'
                                                  and q.lane_policy = c.policy
             group by c.key
        )
        update tenure.gate g set blocked_by = coalesce(c.failed, case when g.blocked_by = any (c.retried) then null
                                                                      else g.blocked_by end)
          from changed c
         where g.queue = of_queue and g.lane and g.key = any (part) and g.key = c.key
           and (c.failed is not null or c.retried is not null);
        with was as materialized (
            select g.key, g.tenant, g.state, g.head as old_head,
                   -- Whose turn it was no longer runs: that is true whoever told of it.
                   (select j.id from tenure.job j where j.id = g.turn and j.running) as turn, g.blocked_by,
                   tenure.head_of(of_queue, g.key) as head
              from tenure.gate g where g.queue = of_queue and g.lane and g.key = any (part)
        ), settled as materialized (
            select w.*, j.priority, j.created_at, j.limit_key,
                   coalesce(j.place = 3 and not j.running and w.turn is null and w.blocked_by is null, false) as open
              from was w left join tenure.job j on j.id = w.head
        ), forgotten as (
            delete from tenure.gate g using settled s
             where g.queue = of_queue and g.lane and g.key = any (part) and g.key = s.key
               and s.head is null and s.turn is null and s.blocked_by is null
        ), written as (
            update tenure.gate g
               set turn = s.turn, blocked_by = s.blocked_by, state = case when s.open then 'open' else 'idle' end,
                   tenant = case when s.open then s.limit_key end, priority = case when s.open then s.priority end,
                   created_at = case when s.open then s.created_at end, head = case when s.open then s.head end
              from settled s
             where g.queue = of_queue and g.lane and g.key = any (part) and g.key = s.key
               and not (s.head is null and s.turn is null and s.blocked_by is null)
               and (g.turn, g.blocked_by, g.state = 'open', g.tenant, g.priority, g.created_at, g.head)
                   is distinct from (s.turn, s.blocked_by, s.open, case when s.open then s.limit_key end,
                                     case when s.open then s.priority end, case when s.open then s.created_at end,
                                     case when s.open then s.head end)
        )
        insert into tenure.touch (queue, lane, key)
        select distinct of_queue, false, t.key
          from settled s, lateral (values (s.tenant), (case when s.open then s.limit_key end)) as t(key)
         where t.key is not null
           and (s.state = 'open', s.tenant, s.old_head)
               is distinct from (s.open, case when s.open then s.limit_key end, case when s.open then s.head end);
    end loop;
end $$;

-- What runs of a tenant, counted from the leases.
create or replace function tenure.count_tenant(of_queue text, of_key text) returns integer language sql stable as $$
    select count(*)::integer
      from tenure.lease l, unnest(l.units) as u(id), tenure.job j
     where l.queue = of_queue and j.id = u.id and j.running and j.token = l.token and j.limit_key = of_key
$$;

-- Says where tenants stand, which the caller holds. One that nothing waits in or runs in, and that spent nothing of a rate
-- lately, is forgotten.
-- Indexes  touch_gate, gate_pkey; those of `due_of_tenant`.
create or replace function tenure.settle_tenants(of_queue text, keys text[], now timestamptz) returns void language plpgsql
as $$
declare
    part text[];
begin
    for nth in 1 .. cardinality(keys) by 100 loop
        part := keys[nth : nth + 99];
        with come as (
            delete from tenure.touch t where t.queue = of_queue and not t.lane and t.key = any (part)
            returning t.key, t.freed, t.recount
        ), freed as (
            select c.key, sum(c.freed)::integer as n, bool_or(c.recount) as recount from come c group by c.key
        )
        update tenure.gate g
           set running = case when f.recount then tenure.count_tenant(of_queue, g.key) else greatest(0, g.running - f.n) end
          from freed f
         where g.queue = of_queue and not g.lane and g.key = any (part) and g.key = f.key and (f.n > 0 or f.recount);
        with settled as materialized (
            select g.key, h.*,
                   case when h.id is null then 'idle'
                        when g.running >= q.max_running_per_key then 'full'
                        when g.rate_spent >= q.key_rate_max
                             and g.rate_period = tenure.micros(now) / 1000 / q.key_rate_period_ms then 'spent'
                        else 'open' end as state,
                   q.key_rate_period_ms,
                   h.id is null and g.running = 0
                       and (g.rate_at is null or g.rate_at <= now - interval '1 day') as forgotten
              from tenure.gate g
              left join tenure.queue q on q.name = of_queue
              left join lateral tenure.due_of_tenant(of_queue, g.key, null, 1) h on true
             where g.queue = of_queue and not g.lane and g.key = any (part)
        ), forgotten as (
            delete from tenure.gate g using settled s
             where g.queue = of_queue and not g.lane and g.key = any (part) and g.key = s.key and s.forgotten
        )
        update tenure.gate g
           set state = s.state,
               priority = case when s.state = 'open' then s.priority end,
               created_at = case when s.state = 'open' then s.created_at end,
               head = case when s.state = 'open' then s.id end,
               look_at = case when s.state = 'spent' then tenure.period_end(s.key_rate_period_ms, now) end
          from settled s
         where g.queue = of_queue and not g.lane and g.key = any (part) and g.key = s.key and not s.forgotten
           and (s.state = 'spent' or g.state <> s.state or s.state = 'open' and g.head <> s.id);
    end loop;
end $$;

-- Looks at the gates of a queue that were touched, and at those whose rate may be whole again. Never waits.
-- Bound  a thousand touches; `more` says whether there were as many.
-- Reply  of those that another transaction holds, one: whether it is a lane, and its key.
create or replace function tenure.settle_touched(
    of_queue text, now timestamptz, out more boolean, out busy_lane boolean, out busy_key text
) language plpgsql
as $$
declare
    lanes text[];
    tenants text[];
    n integer;
    gates record;
begin
    select count(*), array_agg(distinct t.key) filter (where t.lane),
           array_agg(distinct t.key) filter (where not t.lane)
      into n, lanes, tenants
      from (select t.lane, t.key from tenure.touch t where t.queue = of_queue
             order by t.priority desc, t.id limit 1000) t;
    more := n = 1000;
    if lanes is not null then
        select * into gates from tenure.hold_gates(of_queue, true, lanes, true);
        busy_lane := true;
        busy_key := gates.busy;
        if gates.held <> '{}' then
            perform tenure.settle_lanes(of_queue, gates.held);
            -- It touched the tenants of lanes that moved.
            tenants := array(select t.key from unnest(tenants) as t(key)
                             union
                             select t.key from (select t.key from tenure.touch t where t.queue = of_queue and not t.lane
                                                 order by t.lane, t.key limit 1000) t);
        end if;
    end if;
    tenants := tenants || array(select g.key from tenure.gate g
                                 where g.queue = of_queue and g.look_at <= now and g.key <> all (coalesce(tenants, '{}'))
                                 order by g.look_at limit 1000);
    if tenants <> '{}' then
        select * into gates from tenure.hold_gates(of_queue, false, tenants, true);
        if gates.busy is not null then
            busy_lane := false;
            busy_key := gates.busy;
        end if;
        if gates.held <> '{}' then
            perform tenure.settle_tenants(of_queue, gates.held, now);
        end if;
    end if;
end $$;

-- Finds what can run though no touch told of it: walks the keys of waiting jobs, from where the last walk ended, and
-- touches every gate that has a job due and is not open, unless it was touched. Tenants at their limit are counted anew.
-- Bound    so many keys of each sort, once in ten seconds; passed over where another walks. So with up to six times as
--          many keys all are looked at within a minute.
-- Reply    how many were touched.
-- Indexes  job_lane, job_tenant, gate_held, by ranges of their keys.
create or replace function tenure.walk_gates(keys_max integer) returns integer language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off
as $$
declare
    walk tenure.walk;
    of_lane boolean;
    at record;
    of_tenant text;
    touched integer := 0;
    n integer;
begin
    for walk in
        select w.* from tenure.walk w
         where w.over in ('lanes', 'tenants') and w.walked_at <= tenure.clock() - interval '10 seconds'
         order by w.over for update skip locked
    loop
        n := 0;
        of_lane := walk.over = 'lanes';
        loop
            if of_lane then
                select j.queue, j.ordering_key as key, j.place = 3 and not j.running as due into at from tenure.job j
                 where j.ordering_key is not null and (j.queue, j.ordering_key) > (walk.queue, walk.key)
                 order by j.queue, j.ordering_key, j.id limit 1;
            else
                select j.queue, j.limit_key as key, true as due into at from tenure.job j
                 where j.place = 3 and j.limit_key is not null and j.ordering_key is null
                   and (j.queue, j.limit_key) > (walk.queue, walk.key)
                 order by j.queue, j.limit_key limit 1;
            end if;
            if not found then
                -- From the beginning the next time.
                walk.queue := '';
                walk.key := '';
                exit;
            end if;
            walk.queue := at.queue;
            walk.key := at.key;
            select g.tenant into of_tenant from tenure.gate g
             where g.queue = walk.queue and g.lane = of_lane and g.key = walk.key and g.state = 'open';
            if not found then
                if at.due and not exists (select from tenure.touch t where t.queue = walk.queue and t.lane = of_lane
                                             and t.key = walk.key and (of_lane or t.recount)) then
                    insert into tenure.touch (queue, lane, key, recount)
                    values (walk.queue, of_lane, walk.key, not of_lane);
                    touched := touched + 1;
                end if;
            elsif of_tenant is not null
                  and not exists (select from tenure.gate g where g.queue = walk.queue and not g.lane
                                     and g.key = of_tenant and g.state = 'open')
                  and not exists (select from tenure.touch t where t.queue = walk.queue and not t.lane
                                     and t.key = of_tenant and t.recount) then
                insert into tenure.touch (queue, lane, key, recount) values (walk.queue, false, of_tenant, true);
                touched := touched + 1;
            end if;
            n := n + 1;
            exit when n >= keys_max;
        end loop;
        update tenure.walk w set walked_at = tenure.clock(), queue = walk.queue, key = walk.key
         where w.over = walk.over;
    end loop;
    return touched;
end $$;

-- What runs of a tenant, and whose turn it is in a lane or which job it stopped for, as all committed changes have it.
create or replace function tenure.tenant_running(of_queue text, of_key text) returns integer language sql stable
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off as $$
    select greatest(0, coalesce((select g.running from tenure.gate g
                                  where g.queue = of_queue and not g.lane and g.key = of_key), 0)
                       - coalesce((select sum(t.freed) from tenure.touch t
                                    where t.queue = of_queue and not t.lane and t.key = of_key), 0))::integer
$$;
create or replace function tenure.lane_turn(
    of_queue text, of_key text, out turn bigint, out blocked_by bigint
) language sql stable set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
    select (select j.id from tenure.gate g join tenure.job j on j.id = g.turn and j.running
             where g.queue = of_queue and g.lane and g.key = of_key),
           (select max(b.job)
              from (select t.failed as job from tenure.touch t
                      join tenure.queue q on q.name = of_queue and q.lane_on_failure = 'block'
                                         and q.lane_policy = t.policy
                     where t.queue = of_queue and t.lane and t.key = of_key
                    union all
                    select g.blocked_by from tenure.gate g where g.queue = of_queue and g.lane and g.key = of_key) b
             where not exists (select from tenure.touch t
                                where t.queue = of_queue and t.lane and t.key = of_key and t.retried = b.job))
$$;

-- Whether a lane has stopped for a job, or is about to: then it stays on record.
create or replace function tenure.stops_lane(of_queue text, of_key text, of_job bigint) returns boolean
language sql stable as $$
    select of_key is not null
       and (exists (select from tenure.gate g where g.queue = of_queue and g.lane and g.key = of_key and g.blocked_by = of_job)
            or exists (select from tenure.touch t
                        where t.queue = of_queue and t.lane and t.key = of_key and t.failed = of_job))
$$;
