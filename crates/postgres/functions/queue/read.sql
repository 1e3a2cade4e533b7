-- Looking at jobs and queues.

-- Counts the jobs of a queue by state, each up to `count_to`, and finds the oldest that waits.
-- Indexes  job_queue, finished_queue, lease_expiry. The plans are pinned: the planner, who thinks that many rows are wanted,
--          would read whole tables.
create or replace function tenure.count_up_to(
    of_queue text, count_to bigint,
    out queued bigint, out running bigint, out completed bigint, out failed bigint, out oldest_queued_at timestamptz
) language plpgsql stable set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off
as $$
declare
    top constant bigint := 9223372036854775807;
begin
    -- Ranges of the whole key stand for "of this queue", in words that only the right index can order.
    queued := (select count(*) from (select from tenure.job j
                                      where (j.queue, j.id) > (of_queue, 0) and (j.queue, j.id) <= (of_queue, top)
                                        and not j.running
                                      order by j.queue, j.id limit count_to) c);
    running := least(tenure.running_of(of_queue), count_to);
    completed := (select count(*) from (select from tenure.finished f
                                         where (f.queue, f.status, f.id) > (of_queue, 'completed', 0)
                                           and (f.queue, f.status, f.id) <= (of_queue, 'completed', top)
                                         order by f.queue, f.status, f.id limit count_to) c);
    failed := (select count(*) from (select from tenure.finished f
                                      where (f.queue, f.status, f.id) > (of_queue, 'failed', 0)
                                        and (f.queue, f.status, f.id) <= (of_queue, 'failed', top)
                                      order by f.queue, f.status, f.id limit count_to) c);
    oldest_queued_at := (select j.created_at from tenure.job j
                          where (j.queue, j.id) > (of_queue, 0) and (j.queue, j.id) <= (of_queue, top)
                            and not j.running
                          order by j.queue, j.id limit 1);
end $$;

-- The ids of jobs that match, newest first.
-- Parameters  null matches all; only ids below `before`; at most `n_max`.
-- Indexes     job_queue and finished_queue with a queue, else the primary keys and finished_failed, all read backwards and
--             cut at `n_max`; what runs is found through its lease. Pinned, as above. Only a kind that is rare where it
--             is looked for makes it read on.
create or replace function tenure.list_ids(
    of_queue text, of_status text, of_kind text, before bigint, n_max bigint
) returns bigint[] language plpgsql stable set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_hashjoin = off
  set enable_mergejoin = off set jit = off
as $$
declare
    ids bigint[] := '{}';
    word text;
begin
    if of_status = 'running' then
        -- Sorted before they are looked at, and looked at no further than needed.
        ids := array(with held as materialized (
                         select u.id, l.token from tenure.lease l, unnest(l.units) as u(id)
                          where (of_queue is null or l.queue = of_queue) and u.id < before
                          order by u.id desc)
                     select h.id from held h
                      where exists (select from tenure.job j
                                     where j.id = h.id and j.running and j.token = h.token
                                       and (of_kind is null or j.kind = of_kind)
                                    -- Kept from becoming a join, which would begin with the jobs.
                                    offset 0)
                      limit n_max);
    end if;
    -- As above: a range of the whole key, in words that only the right index can order.
    if of_status is null or of_status = 'queued' then
        if of_queue is null then
            ids := array(select j.id from tenure.job j
                          where j.id < before and (of_status is null or not j.running)
                            and (of_kind is null or j.kind = of_kind)
                          order by j.id desc limit n_max);
        else
            ids := array(select j.id from tenure.job j
                          where (j.queue, j.id) < (of_queue, before) and (j.queue, j.id) > (of_queue, 0)
                            and (of_status is null or not j.running) and (of_kind is null or j.kind = of_kind)
                          order by j.queue desc, j.id desc limit n_max);
        end if;
    end if;
    if of_status in ('queued', 'running') then
        -- Nothing of theirs is history.
    elsif of_queue is not null then
        foreach word in array array['completed', 'failed'] loop
            continue when of_status <> word;
            ids := ids || array(select f.id from tenure.finished f
                                 where (f.queue, f.status, f.id) < (of_queue, word, before)
                                   and (f.queue, f.status, f.id) >= (of_queue, word, 0)
                                   and (of_kind is null or f.kind = of_kind)
                                 order by f.queue desc, f.status desc, f.id desc limit n_max);
        end loop;
    elsif of_status = 'failed' then
        ids := ids || array(select f.id from tenure.finished f
                             where f.status = 'failed' and f.id < before and (of_kind is null or f.kind = of_kind)
                             order by f.id desc limit n_max);
    elsif of_status is null or of_status = 'completed' then
        ids := ids || array(select f.id from tenure.finished f
                             where f.id < before and (of_status is null or f.status = of_status)
                               and (of_kind is null or f.kind = of_kind)
                             order by f.id desc limit n_max);
    end if;
    return array(select i from unnest(ids) as i order by i desc limit n_max);
end $$;

-- Queues by name, those included that are known by their jobs alone: enqueued in a transaction of the caller's own.
-- Parameters  only this one, or null; only names after this, or null; how many at most.
-- Indexes     queue_pkey; job_queue, by a seek for each name.
create or replace function tenure.known_queues(one text, after text, n bigint) returns setof tenure.queue
language plpgsql stable set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_bitmapscan = off set jit = off
as $$
begin
    if one is not null then
        return query select q.* from tenure.queue q where q.name = one;
        if not found and exists (select from tenure.job j where j.queue = one) then
            return query select d.* from tenure.default_queue(one, tenure.clock()) d;
        end if;
        return;
    end if;
    return query
        with recursive used (name, nth) as (
            select (select j.queue from tenure.job j where j.queue > coalesce(after, '') order by j.queue limit 1), 1
            union all
            select (select j.queue from tenure.job j where j.queue > u.name order by j.queue limit 1), u.nth + 1
              from used u where u.name is not null and u.nth < n
        )
        select k.* from (
            (select q.* from tenure.queue q where q.name > coalesce(after, '') order by q.name limit n)
            union all
            select d.* from used u, tenure.default_queue(u.name, tenure.clock()) d
             where u.name is not null and not exists (select from tenure.queue q where q.name = u.name)) k
         order by k.name limit n;
end $$;

-- For whoever works and may read no table: these run with the rights of their owner.

-- Jobs, finished or not.
-- Reply    no row for what is not on record. `attempts` are the ended ones; of a finished job all but the last.
-- Indexes  job_pkey, finished_pkey, lease_pkey, note_pkey.
create or replace function tenure.show_job(variadic ids bigint[]) returns table (
    id bigint, queue text, kind text, payload text, priority integer, created_at timestamptz, run_at timestamptz,
    attempt integer, attempts_max integer, backoff double precision[], timeout_ms bigint, ordering_key text,
    limit_key text, cancel_requested boolean, status text, reason text, result text, error text, progress text,
    checkpoint text, token bigint, attempts jsonb, owner text, claimed_at timestamptz, lease_ms bigint,
    expires_at timestamptz, beats integer, last_beat_at timestamptz, longest_gap_ms bigint, finished_at timestamptz,
    outcome text, verb text, final_error text
) language sql stable security definer set search_path = pg_catalog, pg_temp as $$
    select j.id, j.queue, j.kind, j.payload, j.priority, j.created_at, j.run_at, j.attempt, j.attempts_max, j.backoff,
           j.timeout_ms, j.ordering_key, j.limit_key, j.cancel_requested,
           case when j.running then 'running' else 'queued' end, null, null, j.error, n.progress, n.checkpoint,
           j.token, j.attempts, l.owner, l.granted_at, l.lease_ms, l.expires_at, l.beats, l.last_beat_at,
           l.longest_gap_ms, null, null, null, null
      from tenure.job j
      left join tenure.lease l on j.running and l.token = j.token
      left join tenure.note n on n.job = j.id
     where j.id = any (ids)
    union all
    select f.id, f.queue, f.kind, f.payload, f.priority, f.created_at, f.run_at, f.attempt, f.attempts_max, f.backoff,
           f.timeout_ms, f.ordering_key, f.limit_key, false, f.status, f.reason, f.result, f.error, f.progress,
           f.checkpoint, f.token, f.attempts, f.owner, f.claimed_at, null, null, f.beats, f.last_beat_at,
           f.longest_gap_ms, f.finished_at, f.outcome, f.verb, case when f.own_error then f.error end
      from tenure.finished f
     where f.id = any (ids)
$$;

-- Queues by name, with their counts.
-- Parameters  `only_this` one, or null; only names `after` this, or null; `n_max` at most; `count_to` is where counting stops.
-- Reply       counts are exact up to `count_to` - 1.
-- Indexes     queue_pkey, job_queue, lease_expiry, finished_queue; each count reads at most `count_to` entries of its state.
create or replace function tenure.list_queues(only_this text, after text, n_max bigint, count_to bigint) returns table (
    name text, created_at timestamptz, paused boolean, max_running integer, max_running_per_key integer,
    lane_on_failure text, retention_ms bigint, rate_max integer, rate_period_ms bigint, key_rate_max integer,
    key_rate_period_ms bigint, queued bigint, running bigint, completed bigint, failed bigint, oldest_queued_at
    timestamptz
) language sql stable security definer set search_path = pg_catalog, pg_temp as $$
    select q.name, q.created_at, q.paused, q.max_running, q.max_running_per_key, q.lane_on_failure, q.retention_ms,
           q.rate_max, q.rate_period_ms, q.key_rate_max, q.key_rate_period_ms,
           c.queued, c.running, c.completed, c.failed, c.oldest_queued_at
      from tenure.known_queues(only_this, list_queues.after, n_max) q,
           tenure.count_up_to(q.name, count_to) c
     order by q.name
$$;

-- The limit of the whole engine; null is none (Q8).
create or replace function tenure.engine_limit() returns integer language sql stable security definer set search_path = pg_catalog, pg_temp as $$
    select e.max_running from tenure.engine e
$$;

-- Which version of the schema this is, and which release laid out its functions.
create or replace function tenure.installed() returns table (version bigint, release text, digest text)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
    select (select coalesce(max(m.version), 0)::bigint from tenure.migration m), f.release,
           -- Dropped by hand, or lost by a restore of some: what is left is no release's.
           case when exists (select from unnest(f.names) as n(name) where to_regprocedure(n.name) is null)
                then 'in parts' else f.digest end
      from (select) one left join tenure.functions f on true
$$;
