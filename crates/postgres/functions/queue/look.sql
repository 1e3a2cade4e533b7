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
