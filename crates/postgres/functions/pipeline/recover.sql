-- Returns units whose lease ran out, at most `n_max`, oldest deadline first (L7).
-- Parameters  `of_pipeline` and `of_stages` narrow it; null is all.
-- Locks       the run in share, then the unit and, where a segment fails it, the stage. What another is busy with is passed
--             over, and does not count as one of the `n_max`. A unit that cannot be returned never stops the others.
-- Index       unit_expires
create or replace function tenure.recover_pipeline(
    n_max integer, of_pipeline text, of_stages text[], out returned integer, out failed integer
) language plpgsql
  set search_path = pg_catalog, pg_temp set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
declare
    u tenure.unit;
    now timestamptz;
    spent boolean;
begin
    perform tenure.durably();
    returned := 0; failed := 0;
    for u in
        select x.* from tenure.unit x join tenure.run r on r.id = x.run
         where x.status = 'RUNNING' and x.expires_at <= tenure.clock()
           and (of_pipeline is null or (x.pipeline = of_pipeline and x.stage = any (of_stages)))
         order by x.expires_at, x.token
         limit n_max
           for share of r skip locked
           for update of x skip locked
    loop
        spent := u.attempt >= u.attempts_max;
        if spent and u.segment <> '' then
            perform from tenure.unit s where s.run = u.run and s.stage = u.stage and s.segment = ''
               for update skip locked;
            continue when not found;
        end if;
        now := tenure.clock();
        begin
            perform tenure.unit_end(u, case when spent then 'ERROR' else 'READY' end, 'expired', null,
                                    case when spent then 'crash_limit' end, null, u.attempt, null, now);
            if spent then failed := failed + 1; else returned := returned + 1; end if;
        exception when integrity_constraint_violation or data_exception then
            raise warning 'tenure: unit % could not be returned: %', u.id, sqlerrm;
        end;
    end loop;
end $$;
