-- Ends a claim of a unit (P3): complete, fail, release or split.
-- Parameters  of a fail `never`, the reason it is not tried again whatever its attempts; else `delay_ms`, null by the
--             backoff, moved by `chance`.
-- Guard       owner, token and an unexpired lease. Locked in this order: the run (release, split), the stage of a segment
--             that fails it, the unit; then the clock is read (L5). Who does not hold the unit locks nothing, and so waits
--             for nobody who does.
-- Reply       where the unit stands and whether it was so before (L12); or why the lease is lost; or why it cannot be
--             split.
create or replace function tenure.finish_unit(
    of_run bigint, of_stage text, of_segment text, by_owner text, under_token bigint, by_verb text, with_output text,
    with_record text, with_error text, never text, delay_ms bigint, chance double precision, names text[], inputs text[],
    out status text, out already boolean, out lost text, out refused text, out pipeline text
) language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    u tenure.unit;
    now timestamptz;
    judged record;
    why text;
    handed_out boolean;
begin
    perform tenure.durably();
    perform tenure.only_json('output', array[with_output]);
    perform tenure.only_json('input', inputs);
    select * into u from tenure.unit x
     where x.run = of_run and x.stage = of_stage and x.segment = of_segment
       and x.status = 'RUNNING' and x.token = under_token and x.owner = by_owner;
    if found then
        -- The attempts of a unit do not change under a lease.
        why := case when by_verb <> 'fail' then null
                    when never is not null then never
                    when u.attempt >= u.attempts_max then 'attempts_spent' end;
        if by_verb in ('release', 'split') then
            perform from tenure.run r where r.id = of_run for share;
        elsif why is not null and of_segment <> '' then
            perform from tenure.unit x where x.run = of_run and x.stage = of_stage and x.segment = '' for update;
        end if;
        select * into u from tenure.unit x
         where x.id = u.id and x.status = 'RUNNING' and x.token = under_token and x.owner = by_owner
           for update;
    end if;
    now := tenure.clock();
    pipeline := u.pipeline;
    already := false;
    select * into judged from tenure.unit_judge(of_run, of_stage, of_segment, by_owner, under_token, by_verb, now);
    if judged.status is not null then
        status := judged.status;
        already := true;
        return;
    end if;
    if judged.lost is not null then
        lost := judged.lost;
        return;
    end if;
    if by_verb = 'complete' then
        status := 'DONE';
        perform tenure.unit_end(u, 'DONE', 'completed', by_verb, null, null, u.attempt, null, now);
        update tenure.unit x
           set output = with_output,
               record = coalesce(with_record, case when x.record_token = under_token then x.record end),
               record_token = under_token
         where x.id = u.id;
    elsif by_verb = 'release' then
        status := 'READY';
        perform tenure.unit_end(u, 'READY', 'released', by_verb, null, null, greatest(u.attempt - 1, 0), null, now);
    elsif by_verb = 'fail' then
        status := 'ERROR';
        perform tenure.unit_end(
            u, 'ERROR', case when why is null then 'retried' else 'failed' end, by_verb, why,
            case when why is null
                 then tenure.later(now, coalesce(delay_ms, tenure.backoff_ms(u.backoff, u.attempt, chance))) end,
            u.attempt, with_error, now);
    elsif by_verb = 'split' then
        if u.split then
            refused := 'already_split';
            return;
        end if;
        if not u.segmented or u.segment <> '' then
            refused := 'not_segmented';
            return;
        end if;
        status := 'NEW';
        perform tenure.unit_end(u, 'NEW', 'split', by_verb, null, null, 0, null, now);
        update tenure.unit x set split = true where x.id = u.id;
        handed_out := tenure.unit_open(u.run, u.stage, '');
        insert into tenure.unit (run, pipeline, stage, segment, priority, lease_ms, attempts_max, backoff, segmented,
                                 status, input, open, changed_at)
        select u.run, u.pipeline, u.stage, s.name, u.priority, u.lease_ms, u.attempts_max, u.backoff, false, 'READY',
               s.input, handed_out, now
          from unnest(names, inputs) with ordinality as s(name, input, ord) order by s.ord;
    else
        raise exception 'tenure: `%` ends no claim of a unit', by_verb;
    end if;
end $$;
