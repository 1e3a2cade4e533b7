-- store/drop_functions.sql: drops the functions that were laid out last, so that others may come in their place.
-- Guard  all in one statement, for some name others. What somebody else has made of one refuses it, by name.
-- Keeps  whose they were and who might call them, for settle_functions.sql.
create temporary table kept_rights on commit drop as
    select p.oid::regprocedure::text as routine, p.proowner as owner, a.grantee
      from tenure.functions f, unnest(f.names) as n(name), pg_proc p,
           aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
     where p.oid = to_regprocedure(n.name)
       and p.pronamespace = (select c.relnamespace from pg_class c where c.oid = 'tenure.functions'::regclass) and a.privilege_type = 'EXECUTE';
do $$
declare
    listed text := (select string_agg(distinct r.routine, ', ') from pg_temp.kept_rights r);
begin
    if listed is not null then
        execute 'drop routine ' || listed;
    end if;
end $$;
