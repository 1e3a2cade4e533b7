-- Tells leases that ran out, the longest ago first, at most `leases_max` of them (L7, D4). The leases stay.
-- Skips       what another is busy with. One that cannot be told never stops the others.
create or replace function tenure.domain_recover(leases_max integer, out expired integer, out failed integer)
language plpgsql set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
declare
    now timestamptz := tenure.clock();
    d tenure.domain;
begin
    perform tenure.durably();
    expired := 0;
    failed := 0;
    for d in
        select t.* from tenure.domain t
         where t.expires_at is not null and not t.expiry_told and t.expires_at <= now
         order by t.expires_at, t.name limit leases_max
           for no key update skip locked
    loop
        begin
            d := tenure.domain_expire(d, now);
            perform tenure.domain_save(d);
            expired := expired + 1;
            failed := failed + (d.current_offset is null)::integer;
        exception when others then
            raise warning 'tenure: the expired lease of domain % could not be told: %', d.name, sqlerrm;
        end;
    end loop;
end $$;

-- Changes the settings of a domain; one that is not there yet is made. `names` are those that were sent.
create or replace function tenure.domain_change(
    of_name text, names text[], max_retries integer, takeovers_max integer, by_actor text default null
) returns void language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    before tenure.domain;
    after tenure.domain;
begin
    perform tenure.durably();
    perform tenure.domain_make(array[of_name]);
    select d.* into before from tenure.domain d where d.name = of_name for no key update;
    update tenure.domain d
       set max_retries = case when 'max_retries' = any (names) then coalesce(domain_change.max_retries, 3)
                              else d.max_retries end,
           takeovers_max = case when 'takeovers_max' = any (names) then domain_change.takeovers_max
                                else d.takeovers_max end
     where d.name = of_name
     returning d.* into after;
    perform tenure.note_changes('domain', of_name, 'changed', array['max_retries', 'takeovers_max'],
                                array[before.max_retries::text, before.takeovers_max::text],
                                array[after.max_retries::text, after.takeovers_max::text], by_actor, tenure.clock());
end $$;
