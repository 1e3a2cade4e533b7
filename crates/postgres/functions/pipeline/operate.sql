-- What an operator does to a run (L9, S6).
-- Parameters  `stages` and `segments` of a repair, one element for each unit, segment empty for the stage itself;
--             `first` are those stages that wait for no other of them, `later` all stages that follow from these. The
--             graph of a run never changes, so the caller has read both beforehand.
-- Guard       the run's row is held from the beginning, so that nothing of it becomes READY meanwhile; then the units that
--             are to be changed, in the order of their numbers. Waits for claims and endings in flight, and sees them.
-- Reply       where the run stands, or why nothing was changed.
create or replace function tenure.operate_run(
    of_run bigint, action text, why text, stages text[], segments text[], first text[], later text[],
    by_actor text default null, out status text, out refused text, out pipeline text
) language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    r tenure.run;
    u tenure.unit;
    now timestamptz;
    ready boolean;
begin
    perform tenure.durably();
    by_actor := tenure.actor(by_actor);
    select * into r from tenure.run x where x.id = of_run for update;
    if not found then
        refused := 'not_found';
        return;
    end if;
    pipeline := r.pipeline;
    if action in ('cancel', 'pause', 'resume') and r.status <> 'RUNNING' then
        refused := 'terminal';
        return;
    end if;
    if action in ('retry', 'retry_from', 'repair') and r.status = 'RUNNING' then
        refused := 'not_terminal';
        return;
    end if;
    -- Whoever splits a stage holds the run: its segments are there for the statements that follow, or it is refused.
    perform from tenure.unit x
      where x.run = of_run
        and case action
            when 'cancel' then x.status in ('NEW', 'READY', 'RUNNING') or (x.status = 'ERROR' and x.reason is null)
            when 'pause' then x.status = 'READY'
            when 'resume' then x.status = 'READY'
            else x.segment = '' end
      order by x.id for update;
    now := tenure.clock();

    if action = 'cancel' then
        insert into tenure.unit_event (run, at, stage, segment, what, by, error)
        values (of_run, now, '', '', 'cancelled', by_actor, left(why, 200));
        for u in select x.* from tenure.unit x where x.run = of_run and x.status = 'RUNNING' order by x.id for update loop
            perform tenure.unit_end(u, 'ERROR', 'cancelled', null, 'cancelled', null, u.attempt, null, now);
        end loop;
        update tenure.unit x
           set status = 'ERROR', reason = 'cancelled', retry_at = null, open = false, changed_at = now
         where x.run = of_run and (x.status in ('NEW', 'READY') or (x.status = 'ERROR' and x.reason is null));
        delete from tenure.run_touched t where t.run = of_run;
        update tenure.run x set status = 'ERROR', finished_at = now where x.id = of_run;
        status := 'ERROR';
        return;
    end if;

    if action in ('pause', 'resume') then
        status := r.status;
        if r.paused = (action = 'pause') then
            return;
        end if;
        insert into tenure.unit_event (run, at, stage, segment, what, by)
        values (of_run, now, '', '', action || 'd', by_actor);
        update tenure.run x set paused = (action = 'pause') where x.id = of_run;
        update tenure.unit x
           set open = action = 'resume'
                      and (x.segment = '' or not exists (select from tenure.unit s where s.run = of_run and s.stage = x.stage
                                                            and s.segment = '' and s.reason is not null))
         where x.run = of_run and x.status = 'READY';
        return;
    end if;

    if action = 'retry' then
        if not exists (select from tenure.unit x where x.run = of_run and x.segment = '' and x.reason is not null) then
            refused := 'nothing_to_retry';
            return;
        end if;
        for u in select x.* from tenure.unit x where x.run = of_run and x.segment = '' and x.reason is not null order by x.id
        loop
            insert into tenure.unit_event (run, at, stage, segment, what, by)
            values (of_run, now, u.stage, '', 'retried_by_operator', by_actor);
            ready := not u.split and tenure.needs_done(u);
            perform tenure.unit_reset(u.id, case when ready then 'READY' else 'NEW' end, ready and not r.paused, now);
            update tenure.unit x
               set status = 'READY', reason = null, retry_at = null, attempt = 0, output = null, error = null,
                   progress = null, changed_at = now
             where x.run = of_run and x.stage = u.stage and x.segment <> '' and x.status <> 'DONE' and x.status = 'ERROR';
            update tenure.unit x set open = not r.paused
             where x.run = of_run and x.stage = u.stage and x.segment <> '' and x.status <> 'DONE'
               and x.status = 'READY';
        end loop;
    elsif action = 'retry_from' then
        select * into u from tenure.unit x where x.run = of_run and x.stage = stages[1] and x.segment = '';
        if not found then
            refused := 'no_such_unit';
            return;
        end if;
        if u.status = 'NEW' or not tenure.needs_done(u) then
            refused := 'prerequisite_missing';
            return;
        end if;
        insert into tenure.unit_event (run, at, stage, segment, what, by)
        values (of_run, now, u.stage, '', 'retried_by_operator', by_actor);
        delete from tenure.unit x where x.run = of_run and x.stage = u.stage and x.segment <> '';
        perform tenure.unit_reset(u.id, 'READY', not r.paused, now);
        update tenure.unit x set split = false, record = null, record_token = null where x.id = u.id;
    else
        for i in 1 .. cardinality(stages) loop
            select * into u from tenure.unit x where x.run = of_run and x.stage = stages[i] and x.segment = segments[i];
            if not found then
                refused := 'no_such_unit';
                return;
            end if;
            if u.status <> 'DONE' or not exists (select from tenure.unit s where s.run = of_run and s.stage = stages[i]
                                                    and s.segment = '' and s.status = 'DONE') then
                refused := 'not_done';
                return;
            end if;
        end loop;
        insert into tenure.unit_event (run, at, stage, segment, what, by)
        select of_run, now, d.stage, d.segment, 'repaired', by_actor
          from (select distinct s.stage, s.segment from unnest(stages, segments) as s(stage, segment)) d
         order by d.stage collate "C", d.segment collate "C";
        perform tenure.unit_reset(x.id, 'READY', not r.paused, now)
           from unnest(stages, segments) as s(stage, segment)
           join tenure.unit x on x.run = of_run and x.stage = s.stage and x.segment = s.segment
          where s.segment <> '' and s.stage = any (first);
        for u in select x.* from tenure.unit x where x.run = of_run and x.segment = '' and x.stage = any (first) loop
            ready := not exists (select from unnest(stages, segments) as s(stage, segment)
                                  where s.stage = u.stage and s.segment <> '');
            perform tenure.unit_reset(u.id, case when ready then 'READY' else 'NEW' end, ready and not r.paused, now);
        end loop;
    end if;

    -- What follows waits for it again; what it recorded stays, to be validated when its turn comes.
    delete from tenure.unit x where x.run = of_run and x.stage = any (later) and x.segment <> '';
    perform tenure.unit_reset(x.id, 'NEW', false, now)
       from tenure.unit x where x.run = of_run and x.stage = any (later) and x.segment = '' and x.status <> 'NEW';
    update tenure.unit x set split = false where x.run = of_run and x.stage = any (later) and x.segment = '';
    update tenure.run x set status = 'RUNNING', finished_at = null where x.id = of_run;
    insert into tenure.run_touched (run) values (of_run);
    status := 'RUNNING';
end $$;
