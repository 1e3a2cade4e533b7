-- A run begins, with every stage NEW, unless another holds its key.
-- Parameters  one array element for each stage, in the order of the definition; needs and backoff are array literals.
-- Guard       the index run_key: whoever starts under the same key waits for the first, and finds its run.
-- Reply       the run, and whether it was begun here; no id if the one that held the key was removed meanwhile.
create or replace function tenure.start_run(
    of_pipeline text, of_version integer, with_input text, names text[], needs text[], priorities integer[],
    leases bigint[], attempts integer[], backoffs text[], segmented boolean[], with_key text, out id bigint,
    out begun boolean
) language plpgsql as $$
#variable_conflict use_column
declare
    now timestamptz := tenure.clock();
begin
    perform tenure.durably();
    insert into tenure.run (pipeline, version, input, status, created_at, key)
    values (of_pipeline, of_version, with_input, 'RUNNING', now, with_key)
    on conflict (pipeline, key) where key is not null do nothing
    returning run.id into id;
    begun := found;
    if not begun then
        select r.id into id from tenure.run r where r.pipeline = of_pipeline and r.key = with_key;
        return;
    end if;
    insert into tenure.unit (run, pipeline, stage, segment, needs, priority, lease_ms, attempts_max, backoff, segmented,
                             status, changed_at)
    select start_run.id, of_pipeline, s.name, '', s.needs::text[], s.priority, s.lease_ms, s.attempts_max,
           s.backoff::double precision[], s.segmented, 'NEW', now
      from unnest(names, needs, priorities, leases, attempts, backoffs, segmented) with ordinality
           as s(name, needs, priority, lease_ms, attempts_max, backoff, segmented, ord)
     order by s.ord;
    insert into tenure.run_touched (run) values (id);
end $$;

-- Whether everything that a stage waits for is DONE: what it needs and, if it was split, its segments (P2). Reads what the
-- statement that asks sees.
create or replace function tenure.unit_can_start(u tenure.unit) returns boolean language sql stable as $$
    select tenure.needs_done(u)
       and (not u.split or not exists (select from tenure.unit s where s.run = u.run and s.stage = u.stage
                                          and s.segment <> '' and s.status <> 'DONE'))
$$;

-- Looks at one run: makes READY what can start, and settles it if nothing can move any more (P1, P2, P5).
-- Guard  the run's row is held, so that an operator comes before or after; each move is compare-and-set.
create or replace function tenure.look_at_run(of_run bigint, out readied integer, out settled boolean)
language plpgsql set enable_seqscan = off set jit = off as $$
#variable_conflict use_column
declare
    r tenure.run;
    now timestamptz;
    ending text;
begin
    readied := 0;
    settled := false;
    select * into r from tenure.run x where x.id = of_run for no key update;
    if not found or r.status <> 'RUNNING' then
        return;
    end if;
    now := tenure.clock();
    update tenure.unit u
       set status = 'READY', open = not r.paused, changed_at = now
     where u.run = of_run and u.segment = '' and u.status = 'NEW'
       -- As `unit_can_start`, which would be called for each.
       and not exists (select from unnest(u.needs) as n(name)
                        where not exists (select from tenure.unit d where d.run = of_run and d.stage = n.name
                                             and d.segment = '' and d.status = 'DONE'))
       and (not u.split or not exists (select from tenure.unit s where s.run = of_run and s.stage = u.stage
                                          and s.segment <> '' and s.status <> 'DONE'));
    get diagnostics readied = row_count;
    if not exists (select from tenure.unit u where u.run = of_run and u.segment = '' and u.status <> 'DONE') then
        ending := 'DONE';
    elsif not exists (select from tenure.unit u where u.run = of_run and u.segment = ''
                         and u.status = 'ERROR' and u.reason is not null) then
        -- Only an operator takes such an error back, and the run is held: nothing ends without one.
        return;
    -- Judged by one statement, which sees what others have moved meanwhile: what could start since then is not stuck.
    elsif not exists (select from tenure.unit u where u.run = of_run and u.segment = ''
                         and (u.status in ('READY', 'RUNNING') or (u.status = 'ERROR' and u.reason is null)
                              or u.status = 'NEW' and tenure.unit_can_start(u)))
      and not exists (select from tenure.unit u where u.run = of_run and u.segment <> '' and u.status <> 'DONE'
                         and (u.status = 'RUNNING'
                              or ((u.status = 'READY' or (u.status = 'ERROR' and u.reason is null))
                                  and not exists (select from tenure.unit s where s.run = of_run and s.stage = u.stage
                                                     and s.segment = '' and s.reason is not null)))) then
        ending := 'ERROR';
    else
        return;
    end if;
    update tenure.run x set status = ending, finished_at = now where x.id = of_run and x.status = 'RUNNING';
    settled := found;
end $$;

-- One step of the orchestrator: releases units that are due to be tried again, and looks at runs in which something
-- happened, at most `n_max` of each.
-- Skips   what another orchestrator is busy with.
-- Index   unit_retry, run_touched_run: nothing here grows with the number of runs that have ended.
create or replace function tenure.advance_runs(
    n_max integer, out runs integer, out readied integer, out retried integer, out settled integer,
    out again_in_ms bigint, out pipelines text[]
) language plpgsql set enable_seqscan = off set jit = off as $$
#variable_conflict use_column
declare
    u tenure.unit;
    of_run bigint;
    looked record;
begin
    perform tenure.durably();
    runs := 0; readied := 0; retried := 0; settled := 0; pipelines := '{}';
    for u in
        select x.* from tenure.unit x where x.retry_at is not null and x.retry_at <= tenure.clock()
         order by x.retry_at, x.id limit n_max for update skip locked
    loop
        perform from tenure.run r where r.id = u.run for share skip locked;
        continue when not found;
        update tenure.unit x
           set status = 'READY', retry_at = null, changed_at = tenure.clock(),
               open = tenure.unit_open(u.run, u.stage, u.segment)
         where x.id = u.id;
        retried := retried + 1;
        if u.pipeline <> all (pipelines) then pipelines := pipelines || u.pipeline; end if;
    end loop;
    for of_run in select distinct t.run from tenure.run_touched t order by t.run limit n_max loop
        delete from tenure.run_touched t
         where t.id in (select o.id from tenure.run_touched o where o.run = of_run for update skip locked);
        continue when not found;
        runs := runs + 1;
        select * into looked from tenure.look_at_run(of_run);
        readied := readied + looked.readied;
        settled := settled + looked.settled::integer;
        if looked.readied > 0 then
            pipelines := pipelines || array(select r.pipeline from tenure.run r
                                             where r.id = of_run and r.pipeline <> all (pipelines));
        end if;
    end loop;
    -- Null where nothing is to be tried again: `greatest` alone would make that 0.
    select case when min(x.retry_at) is not null
                then greatest(0, ceil(extract(epoch from min(x.retry_at) - tenure.clock()) * 1000)) end::bigint
      into again_in_ms from tenure.unit x where x.retry_at is not null;
end $$;

-- Removes settled runs that are no longer kept, at most `n_max`.
create or replace function tenure.prune_runs(n_max integer, kept_ms bigint) returns integer language plpgsql as $$
declare
    past bigint[];
begin
    perform tenure.durably();
    past := array(select r.id from tenure.run r
                   where r.finished_at is not null
                     and r.finished_at <= tenure.clock() - kept_ms * interval '1 millisecond'
                   order by r.finished_at, r.id limit n_max for update skip locked);
    delete from tenure.unit u where u.run = any (past);
    delete from tenure.unit_attempt a where a.run = any (past);
    delete from tenure.unit_event e where e.run = any (past);
    delete from tenure.run_touched t where t.run = any (past);
    delete from tenure.run r where r.id = any (past);
    return cardinality(past);
end $$;
