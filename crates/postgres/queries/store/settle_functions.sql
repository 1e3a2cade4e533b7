-- store/settle_functions.sql: after the functions were laid out in this transaction. Writes down which they are, drops
-- what an earlier version has left, other arguments under the same name too, gives rights back that were kept, and takes from
-- everybody what nobody was granted: some of them run with their owner's rights.
-- Guard  what a migration made stays: the clock, and the trigger's function.
do $$
declare
    home oid := (select c.relnamespace from pg_class c where c.oid = 'tenure.functions'::regclass);
    fresh oid[];
    stale text;
    one record;
begin
    fresh := array(select p.oid from pg_proc p
                    where p.pronamespace = home and p.xmin = pg_current_xact_id()::xid
                      and p.proname not in ('clock', 'unit_guard'));
    select string_agg(p.oid::regprocedure::text, ', ') into stale
      from pg_proc p
     where p.pronamespace = home and p.oid <> all (fresh) and p.proname not in ('clock', 'unit_guard')
       and (p.proname in (select q.proname from pg_proc q where q.oid = any (fresh))
            or p.oid in (select to_regprocedure(n.name) from tenure.functions f, unnest(f.names) as n(name)));
    if stale is not null then
        execute 'drop routine ' || stale;
    end if;
    update tenure.functions set names = array(select f.oid::regprocedure::text from unnest(fresh) as f(oid) order by 1);
    for one in
        select p.oid::regprocedure as routine from pg_proc p
         where p.oid = any (fresh) or p.pronamespace = home and p.proname in ('clock', 'unit_guard')
    loop
        execute format('revoke execute on routine %s from public', one.routine);
    end loop;
    if to_regclass('pg_temp.kept_rights') is null then
        return;
    end if;
    for one in
        select r.routine, r.owner::regrole as owner,
               array_agg(r.grantee::regrole::text) filter (where r.grantee <> 0) as grantees
          from pg_temp.kept_rights r
         where to_regprocedure(r.routine) is not null
         group by r.routine, r.owner
    loop
        execute format('alter routine %s owner to %s', one.routine, one.owner);
        if one.grantees is not null then
            execute format('grant execute on routine %s to %s', one.routine, array_to_string(one.grantees, ', '));
        end if;
    end loop;
end $$;
