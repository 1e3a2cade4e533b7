-- Tenants and lanes: what lets a waiting job pass, and what opens again when one has ended (Q8, Q9).
--
-- A claim never waits for a tenant or a lane: what another transaction holds is passed over, and met again. Endings do
-- wait, tenants before lanes, each in the order of its key.

-- The number under which the row of a tenant or a lane is made by one transaction at a time. Two names that share one
-- only take turns.
create or replace function tenure.name_number(what text, of_queue text, of_key text) returns bigint
language sql immutable parallel safe as $$
    select hashtextextended('tenure ' || what || ' ' || of_queue || ' ' || of_key, 0)
$$;

-- Whether this transaction alone may make the row of a tenant or a lane. Never waits; whoever may not, passes over it.
create or replace function tenure.may_make(what text, of_queue text, of_key text) returns boolean language sql as $$
    select pg_try_advisory_xact_lock(tenure.name_number(what, of_queue, of_key))
$$;

-- Makes the row of a lane where there is none, and locks it. Waits for whoever holds or makes it.
create or replace function tenure.hold_lane(of_queue text, of_key text) returns void language plpgsql as $$
begin
    perform from tenure.lane l where l.queue = of_queue and l.key = of_key for update;
    if not found then
        perform pg_advisory_xact_lock(tenure.name_number('lane', of_queue, of_key));
        insert into tenure.lane (queue, key) values (of_queue, of_key) on conflict do nothing;
        perform from tenure.lane l where l.queue = of_queue and l.key = of_key for update;
    end if;
end $$;

-- The first job of a lane.
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

-- Asks a tenant for a slot, and takes it.
-- Reply  `ok`; `full`; `spent` (its rate, until `spent_until`); `busy`.
create or replace function tenure.take_slot(
    of_queue text, of_key text, slots integer, rate_max integer, rate_period_ms bigint,
    out answer text, out spent_until timestamptz
) language plpgsql as $$
declare
    tenant tenure.tenant;
    now_ms bigint := tenure.micros(tenure.clock()) / 1000;
    period bigint := now_ms / rate_period_ms;
    spent integer;
begin
    select t.* into tenant from tenure.tenant t where t.queue = of_queue and t.key = of_key for update skip locked;
    if not found then
        -- Held by another, or new. `on conflict` would wait for whoever is changing or making it: a claim must not.
        if not tenure.may_make('tenant', of_queue, of_key)
           or exists (select from tenure.tenant t where t.queue = of_queue and t.key = of_key) then
            answer := 'busy';
            return;
        end if;
        insert into tenure.tenant (queue, key) values (of_queue, of_key) returning * into tenant;
    end if;
    spent := case when tenant.rate_period = period then tenant.rate_spent else 0 end;
    if tenant.running >= slots then
        answer := 'full';
    elsif spent >= rate_max then
        answer := 'spent';
        spent_until := tenure.period_end(rate_period_ms, tenure.clock());
    else
        answer := 'ok';
        -- Without a rate nothing is counted; what was spent of one stays, should it be set again in the same period.
        update tenure.tenant t set running = t.running + 1,
                                   rate_period = case when rate_max is null then t.rate_period else period end,
                                   rate_spent = case when rate_max is null then t.rate_spent else spent + 1 end
         where t.queue = of_queue and t.key = of_key;
    end if;
end $$;

-- Asks a lane whether it is this job's turn. The lane is read in a statement after it is locked: a job with a smaller
-- id may have been committed in between (Q9).
-- Reply  `ok`, and the lane stays locked; `wait`; `busy`.
create or replace function tenure.take_turn(of_queue text, of_key text, of_job bigint) returns text
language plpgsql as $$
declare
    lane tenure.lane;
begin
    select l.* into lane from tenure.lane l where l.queue = of_queue and l.key = of_key for update skip locked;
    if not found then
        if not tenure.may_make('lane', of_queue, of_key)
           or exists (select from tenure.lane l where l.queue = of_queue and l.key = of_key) then
            return 'busy';
        end if;
        insert into tenure.lane (queue, key) values (of_queue, of_key) returning * into lane;
    end if;
    if lane.running is not null or lane.blocked_by is not null
       or of_job <> tenure.head_of(of_queue, of_key) then
        return 'wait';
    end if;
    update tenure.lane l set running = of_job where l.queue = of_queue and l.key = of_key;
    return 'ok';
end $$;

-- Lets stand what a tenant has slots for: so many of each kind, for a claim may ask for one kind only.
-- The caller holds the tenant. Reply: whether more is parked than one step lets stand.
create or replace function tenure.open_tenant(of_queue text, of_key text) returns boolean language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off
as $$
declare
    slots integer;
    of_kind text;
    n integer;
    more boolean := false;
begin
    slots := (select least(1000, coalesce(q.max_running_per_key, 1000000) - coalesce(t.running, 0))
                from tenure.queue q left join tenure.tenant t on t.queue = q.name and t.key = of_key
               where q.name = of_queue);
    if slots <= 0 then
        return false;
    end if;
    loop
        of_kind := (select j.kind from tenure.job j
                     where j.queue = of_queue and j.limit_key = of_key and j.place = 3
                       and (of_kind is null or j.kind > of_kind)
                     order by j.kind limit 1);
        exit when of_kind is null;
        update tenure.job j set place = case when j.run_at <= tenure.clock() then 1 else 2 end
         -- Picked once: a list in a join may be made again for every row, and then no limit holds.
         where j.id = any (array(
            select p.id from tenure.job p
             where p.queue = of_queue and p.limit_key = of_key and p.kind = of_kind and p.place = 3
               and (p.ordering_key is null
                    or p.id = tenure.head_of(of_queue, p.ordering_key)
                       and not exists (select from tenure.lane l
                                        where l.queue = of_queue and l.key = p.ordering_key
                                          and (l.running is not null or l.blocked_by is not null)))
             order by p.priority desc, p.created_at, p.id limit slots for update skip locked));
        get diagnostics n = row_count;
        more := more or n = slots and slots = 1000;
    end loop;
    return more;
end $$;

-- Lets the job stand whose turn it is. The caller holds the lane. Never waits for the job, which comes before its lane in
-- the order of locks (L10): whoever holds it may leave it as it was, so the lane is looked at again.
create or replace function tenure.open_lane(of_queue text, of_key text) returns void language plpgsql as $$
declare
    head tenure.job;
    lane tenure.lane;
begin
    select l.* into lane from tenure.lane l where l.queue = of_queue and l.key = of_key;
    select j.* into head from tenure.job j where j.id = tenure.head_of(of_queue, of_key);
    if head.id is null then
        delete from tenure.lane l where l.queue = of_queue and l.key = of_key and l.blocked_by is null;
    elsif lane.running is null and lane.blocked_by is null and head.place = 3 then
        perform from tenure.job j where j.id = head.id for update skip locked;
        if found then
            update tenure.job j set place = case when j.run_at <= tenure.clock() then 1 else 2 end where j.id = head.id;
        else
            insert into tenure.arrival (queue, key, lane, at) values (of_queue, of_key, true, tenure.clock());
        end if;
    end if;
end $$;

-- Jobs that ran have ended or wait again: their tenants' slots and their lanes' turns are free.
-- Parameters  one array element for each job that has a tenant or a lane; `blocks` where it failed for good.
create or replace function tenure.vacate(
    of_jobs bigint[], of_queues text[], of_limit_keys text[], of_ordering_keys text[], blocks boolean[]
) returns void language plpgsql as $$
declare
    gone record;
begin
    for gone in
        select g.queue, g.limit_key as key, count(*)::integer as n
          from unnest(of_queues, of_limit_keys) as g(queue, limit_key)
         where g.limit_key is not null group by 1, 2 order by 1, 2
    loop
        update tenure.tenant t set running = greatest(0, t.running - gone.n)
         where t.queue = gone.queue and t.key = gone.key;
        perform tenure.open_tenant(gone.queue, gone.key);
    end loop;
    for gone in
        select g.* from unnest(of_jobs, of_queues, of_ordering_keys, blocks) as g(job, queue, key, blocks)
         where g.key is not null order by g.queue, g.key, g.job
    loop
        perform from tenure.lane l where l.queue = gone.queue and l.key = gone.key for update;
        update tenure.lane l
           set running = case when l.running = gone.job then null else l.running end,
               blocked_by = case when gone.blocks and (select q.lane_on_failure = 'block' from tenure.queue q
                                                        where q.name = gone.queue)
                                 then gone.job else l.blocked_by end
         where l.queue = gone.queue and l.key = gone.key;
        perform tenure.open_lane(gone.queue, gone.key);
    end loop;
end $$;

-- Jobs that had passed are not claimed after all, in the transaction that let them pass: it is as if they never had.
create or replace function tenure.give_back(ids bigint[]) returns setof boolean language sql as $$
    update tenure.tenant t
       set running = t.running - g.n,
           rate_spent = case when (select q.key_rate_max is null from tenure.queue q where q.name = g.queue)
                             then t.rate_spent else greatest(0, t.rate_spent - g.n) end
      from (select j.queue, j.limit_key, count(*)::integer as n from tenure.job j
             where j.id = any (ids) and j.limit_key is not null group by 1, 2) g
     where t.queue = g.queue and t.key = g.limit_key;
    update tenure.lane l set running = null
      from tenure.job j
     where j.id = any (ids) and l.queue = j.queue and l.key = j.ordering_key and l.running = j.id;
    -- Others of the tenant may have been parked because of them.
    select tenure.open_tenant(t.queue, t.limit_key)
      from (select distinct j.queue, j.limit_key from tenure.job j
             where j.id = any (ids) and j.limit_key is not null) t;
$$;

-- Looks again at tenants and lanes behind which a job was parked: they may have opened before it was committed.
-- Bound  a hundred of them; what another holds stays for the next look.
create or replace function tenure.look_again(of_queues text[]) returns void language plpgsql as $$
declare
    a record;
begin
    for a in
        select array_agg(n.id) as ids, n.queue, n.key, n.lane
          from (select v.* from tenure.arrival v
                 where v.queue = any (of_queues) and v.at <= tenure.clock()
                 order by v.at limit 100 for update skip locked) n
         group by n.queue, n.key, n.lane order by n.lane, n.queue, n.key
    loop
        if a.lane then
            perform from tenure.lane l where l.queue = a.queue and l.key = a.key for update skip locked;
            continue when not found and exists (select from tenure.lane l where l.queue = a.queue and l.key = a.key);
            perform tenure.open_lane(a.queue, a.key);
        else
            perform from tenure.tenant t where t.queue = a.queue and t.key = a.key for update skip locked;
            continue when not found and exists (select from tenure.tenant t where t.queue = a.queue and t.key = a.key);
            if tenure.open_tenant(a.queue, a.key) then
                insert into tenure.arrival (queue, key, lane, at) values (a.queue, a.key, false, tenure.clock());
            end if;
        end if;
        delete from tenure.arrival v where v.id = any (a.ids);
    end loop;
end $$;
