-- An ended attempt as a receipt (L12).
create or replace function tenure.receipt_of(
    attempt jsonb,
    out token bigint, out at timestamptz, out owner text, out verb text, out status text, out cancelled boolean
) language sql immutable parallel safe as $$
    select (attempt ->> 'token')::bigint,
           timestamptz 'epoch' + (attempt ->> 'ended_at')::bigint * interval '1 microsecond',
           attempt ->> 'owner',
           attempt ->> 'verb',
           case attempt ->> 'outcome' when 'completed' then 'completed' when 'failed' then 'failed'
                                      when 'cancelled' then 'failed' else 'queued' end,
           attempt ->> 'outcome' = 'cancelled'
$$;

-- Removes finished jobs, keeping what L12 and Q7 still promise about them. Those whose key somebody enqueues under at this
-- moment, perhaps in a transaction that stays open, are left for the next time.
create or replace function tenure.forget(ids bigint[], now timestamptz) returns integer language plpgsql as $$
declare
    n integer;
    keyed bigint[];
begin
    keyed := array(select d.job from tenure.dedup d where d.job = any (ids) order by d.queue, d.key for update skip locked);
    ids := array(select i.id from unnest(ids) as i(id)
                  where i.id = any (keyed) or not exists (select from tenure.dedup d where d.job = i.id));
    with gone as (
        delete from tenure.finished f where f.id = any (ids) returning f.*
    ), receipts as (
        insert into tenure.receipt (job, token, at, owner, verb, status, cancelled)
        select g.id, r.* from gone g, jsonb_array_elements(tenure.all_attempts(g)) a(attempt), tenure.receipt_of(a.attempt) r
         where r.at > now - interval '1 hour'
        on conflict do nothing
    ), keys as (
        update tenure.dedup d set ended = g.status from gone g where d.job = g.id
    ), events as (
        delete from tenure.event e using gone g where e.job = g.id
    )
    select count(*) into n from gone;
    return n;
end $$;

-- Removes, of jobs of these queues that have just finished, those of queues that keep nothing. A job its lane stopped for
-- stays.
create or replace function tenure.forget_unkept(ids bigint[], of_queues text[], now timestamptz) returns void
language plpgsql as $$
declare
    unkept bigint[];
begin
    if not exists (select from tenure.queue q where q.name = any (of_queues) and q.retention_ms = 0) then
        return;
    end if;
    unkept := array(select f.id from tenure.finished f join tenure.queue q on q.name = f.queue and q.retention_ms = 0
                     where f.id = any (ids) and not tenure.stops_lane(f.queue, f.ordering_key, f.id));
    if unkept <> '{}' then
        perform tenure.forget(unkept, now);
    end if;
end $$;

-- Removes what is no longer kept, at most `n_max` of each kind (I19).
create or replace function tenure.prune(
    n_max integer, out jobs integer, out receipts integer, out keys integer, out sightings integer
) language plpgsql set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_bitmapscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
declare
    place bigint := floor(random() * (select s.last_value from tenure.job_id s));
    now timestamptz := tenure.clock();
    walk tenure.walk;
    q tenure.queue;
    old bigint[];
    visited integer := 0;
begin
    perform tenure.durably();
    jobs := 0;
    -- By name, at most a thousand queues: from the first, unless the call before met a thousand that had nothing more.
    -- Passed over where another is about it.
    select w.* into walk from tenure.walk w where w.over = 'queues' for update skip locked;
    for q in select k.* from tenure.queue k where k.name > walk.queue order by k.name limit 1000 loop
        exit when jobs >= n_max;
        visited := visited + 1;
        old := array(select f.id from tenure.finished f
                      where f.queue = q.name and f.finished_at <= now - q.retention_ms * interval '1 millisecond'
                        and not tenure.stops_lane(f.queue, f.ordering_key, f.id)
                      order by f.finished_at limit n_max - jobs for update skip locked);
        if old <> '{}' then
            jobs := jobs + tenure.forget(old, now);
        end if;
    end loop;
    if jobs < n_max then
        update tenure.walk w set queue = case when visited = 1000 then q.name else '' end
         where w.over = walk.over and w.queue <> case when visited = 1000 then q.name else '' end;
    end if;
    -- By rows gathered first, once: a limited list inside a join may be made anew for every row it is joined with.
    delete from tenure.receipt r
     where r.ctid = any (array(select o.ctid from tenure.receipt o where o.at <= now - interval '1 hour'
                                order by o.at limit n_max for update skip locked));
    get diagnostics receipts = row_count;
    delete from tenure.dedup d
     where d.ctid = any (array(
        select o.ctid from tenure.dedup o
         where o.until <= now and not exists (select from tenure.job j where j.id = o.job)
         order by o.until limit n_max for update skip locked));
    get diagnostics keys = row_count;
    delete from tenure.change c
     where c.ctid = any (array(select o.ctid from tenure.change o where o.at <= now - interval '90 days'
                                order by o.at limit n_max for update skip locked));
    delete from tenure.sighting s
     where s.ctid = any (array(
        select o.ctid from tenure.sighting o
         where o.seen_at <= now - interval '1 day' order by o.seen_at limit n_max for update skip locked));
    get diagnostics sightings = row_count;
    -- Left behind by endings in their callers' own transactions. Most notes belong to jobs that are there: a bounded number
    -- is looked at, from a place that chance draws, so that all are met in time.
    delete from tenure.note n
     where n.job in (select o.job from tenure.note o
                      where o.job = any (array(select a.job from tenure.note a where a.job >= place
                                                order by a.job limit n_max)
                                         || array(select b.job from tenure.note b where b.job < place
                                                   order by b.job limit n_max))
                        and not exists (select from tenure.job j where j.id = o.job) for update skip locked);
    -- A tenant that spent nothing of a rate for a day, where nothing waits or runs.
    delete from tenure.gate g
     where (g.queue, g.lane, g.key) in (
        select o.queue, o.lane, o.key from tenure.gate o
         where o.rate_at <= now - interval '1 day' and o.state = 'idle' and o.running = 0
         order by o.rate_at limit n_max for update skip locked);
    delete from tenure.slack s
     where s.token = any (array(select o.token from tenure.slack o
                                 where not exists (select from tenure.lease l where l.token = o.token) limit n_max));
end $$;
