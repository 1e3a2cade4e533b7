-- A run begins, with every stage NEW, unless another holds its key.
-- Parameters  `stages`: an array of objects, in the order of the definition.
-- Guard       the index run_key: whoever starts under the same key waits for the first, and finds its run.
-- Reply       the run, and whether it was begun here; no id if the one that held the key was removed meanwhile.
create or replace function tenure.start_run(
    of_pipeline text, of_version integer, with_input text, stages jsonb, with_key text, out id bigint, out begun boolean
) language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    now timestamptz := tenure.clock();
begin
    perform tenure.durably();
    perform tenure.only_json('input', array[with_input]);
    if not exists (select from tenure.pipeline p where p.name = of_pipeline and p.version = of_version)
       or exists (select from jsonb_to_recordset(stages) as n(name text) where not exists (
                      select from tenure.pipeline_stage s where s.pipeline = of_pipeline and s.stage = n.name)) then
        perform tenure.refuse('not_found', 'a run has the stages of a version of its pipeline');
    end if;
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
    select start_run.id, of_pipeline, s.name, '', s.needs, s.priority, s.lease_ms, s.attempts_max, s.backoff,
           s.segmented, 'NEW', now
      from rows from (jsonb_to_recordset(stages) as (
               name text, needs text[], priority integer, lease_ms bigint, attempts_max integer,
               backoff double precision[], segmented boolean)) with ordinality
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
-- Guard  the caller holds the run's row, so that an operator comes before or after; each move is compare-and-set.
-- Waits  for nobody. `again` says that something was passed over because another is busy with it: look once more.
create or replace function tenure.look_at_run(of_run bigint, out readied integer, out settled boolean, out again boolean)
language plpgsql set enable_seqscan = off set jit = off as $$
#variable_conflict use_column
declare
    r tenure.run;
    now timestamptz;
    able bigint[];
    failed text[];
    moves boolean;
    claimed_now boolean;
    ending text;
begin
    readied := 0;
    settled := false;
    again := false;
    select * into r from tenure.run x where x.id = of_run;
    if not found or r.status <> 'RUNNING' then
        return;
    end if;
    now := tenure.clock();
    able := array(select u.id from tenure.unit u
                   where u.run = of_run and u.segment = '' and u.status = 'NEW'
                     -- As `unit_can_start`, which would be called for each.
                     and not exists (select from unnest(u.needs) as n(name)
                                      where not exists (select from tenure.unit d where d.run = of_run and d.stage = n.name
                                                           and d.segment = '' and d.status = 'DONE'))
                     and (not u.split or not exists (select from tenure.unit s where s.run = of_run and s.stage = u.stage
                                                        and s.segment <> '' and s.status <> 'DONE')));
    if able <> '{}' then
        update tenure.unit u
           set status = 'READY', open = not r.paused, changed_at = now
         where u.id in (select x.id from tenure.unit x where x.id = any (able) and x.status = 'NEW'
                           for update skip locked);
        get diagnostics readied = row_count;
        again := readied < cardinality(able);
    end if;
    if not exists (select from tenure.unit u where u.run = of_run and u.segment = '' and u.status <> 'DONE') then
        ending := 'DONE';
    else
        failed := array(select u.stage from tenure.unit u where u.run = of_run and u.segment = ''
                           and u.status = 'ERROR' and u.reason is not null);
        -- Only an operator takes such an error back, and the run is held: nothing ends without one.
        if failed = '{}' then
            return;
        end if;
        -- What became READY while its stage was failing. One that is still open after this is being claimed right now.
        update tenure.unit x set open = false
         where x.id in (select u.id from tenure.unit u
                         where u.run = of_run and u.segment <> '' and u.status <> 'DONE' and u.status = 'READY' and u.open
                           and u.stage = any (failed)
                           for update skip locked);
        -- Judged by one statement, which sees what others have moved meanwhile: what could start since then is not stuck,
        -- and who is about to hold a segment is seen before or after.
        select exists (select from tenure.unit u where u.run = of_run and u.segment = ''
                          and (u.status in ('READY', 'RUNNING') or (u.status = 'ERROR' and u.reason is null)
                               or u.status = 'NEW' and tenure.unit_can_start(u)))
               or exists (select from tenure.unit u where u.run = of_run and u.segment <> '' and u.status <> 'DONE'
                             and (u.status = 'RUNNING'
                                  or ((u.status = 'READY' or (u.status = 'ERROR' and u.reason is null))
                                      and u.stage <> all (failed)))),
               exists (select from tenure.unit u where u.run = of_run and u.segment <> '' and u.status <> 'DONE'
                          and u.status = 'READY' and u.open)
          into moves, claimed_now;
        if moves or claimed_now then
            again := again or not moves;
            return;
        end if;
        ending := 'ERROR';
    end if;
    update tenure.run x set status = ending, finished_at = now where x.id = of_run and x.status = 'RUNNING';
    settled := found;
end $$;

-- Releases units that are due to be tried again, at most `n_max`, the longest due first (P4).
-- Locks  the run, then the unit. What another is busy with is passed over, and does not count as one of the `n_max`.
-- Index  unit_retry
create or replace function tenure.release_due_units(n_max integer, out retried integer, out pipelines text[])
language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    u tenure.unit;
begin
    retried := 0; pipelines := '{}';
    for u in
        select x.* from tenure.unit x join tenure.run r on r.id = x.run
         where x.retry_at is not null and x.retry_at <= tenure.clock()
         order by x.retry_at, x.id limit n_max
           for no key update of r skip locked
           for update of x skip locked
    loop
        update tenure.unit x
           set status = 'READY', retry_at = null, changed_at = tenure.clock(),
               open = tenure.unit_open(u.run, u.stage, u.segment)
         where x.id = u.id;
        retried := retried + 1;
        if u.pipeline <> all (pipelines) then pipelines := pipelines || u.pipeline; end if;
    end loop;
end $$;

-- One step of the orchestrator: releases units that are due to be tried again, and looks at runs in which something
-- happened, at most `n_max` of each, those whose news is oldest first.
-- Locks  runs, then their units. Waits for nobody: a run that an operator or another orchestrator is busy with is passed
--        over, and looked at soon.
-- Index  unit_retry, run_touched's key and run_touched_run: nothing here grows with the number of runs that have ended.
create or replace function tenure.advance_runs(
    n_max integer, out runs integer, out readied integer, out retried integer, out settled integer,
    out again_in_ms bigint, out pipelines text[]
) language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
#variable_conflict use_column
declare
    -- How soon to come back for what was passed over.
    soon constant integer := 50;
    passed_over boolean := false;
    seen bigint := 0;
    batch bigint[];
    once_more bigint[] := '{}';
    of_run bigint;
    looked record;
begin
    perform tenure.durably();
    runs := 0; readied := 0; settled := 0;
    select d.retried, d.pipelines into retried, pipelines from tenure.release_due_units(n_max) d;
    -- In portions: one run may have very many rows, and may be one that is passed over.
    <<portions>> loop
        select array_agg(w.run order by w.first_id), max(w.last_id) into batch, seen
          from (select t.run, min(t.id) as first_id, max(t.id) as last_id
                  from (select o.id, o.run from tenure.run_touched o where o.id > seen order by o.id limit 20 * n_max) t
                 group by t.run) w;
        exit when batch is null;
        foreach of_run in array batch loop
            exit portions when runs >= n_max;
            perform from tenure.run r where r.id = of_run for no key update skip locked;
            if not found then
                delete from tenure.run_touched t
                 where t.run = of_run and not exists (select from tenure.run r where r.id = of_run);
                passed_over := passed_over or not found;
                continue;
            end if;
            -- What was written with these rows is seen by the statements that follow.
            delete from tenure.run_touched t where t.run = of_run;
            runs := runs + 1;
            select * into looked from tenure.look_at_run(of_run);
            readied := readied + looked.readied;
            settled := settled + looked.settled::integer;
            if looked.again then
                once_more := once_more || of_run;
            end if;
            if looked.readied > 0 then
                pipelines := pipelines || array(select r.pipeline from tenure.run r
                                                 where r.id = of_run and r.pipeline <> all (pipelines));
            end if;
        end loop;
    end loop;
    insert into tenure.run_touched (run) select distinct o.run from unnest(once_more) as o(run);
    -- Null where nothing is to be tried again: `greatest` alone would make that 0.
    select case when min(x.retry_at) is not null
                then greatest(0, ceil(extract(epoch from min(x.retry_at) - tenure.clock()) * 1000)) end::bigint
      into again_in_ms from tenure.unit x where x.retry_at is not null;
    if passed_over or once_more <> '{}' or (again_in_ms = 0 and retried < n_max) then
        again_in_ms := soon;
    end if;
end $$;

-- Removes settled runs that are no longer kept, at most `n_max`.
create or replace function tenure.prune_runs(n_max integer, kept_ms bigint) returns integer language plpgsql
  set search_path = pg_catalog, pg_temp as $$
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
