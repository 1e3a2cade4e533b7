-- Roles with no more rights than they need. `migrate --print-roles` prints this for the schema of its store.
--
-- tenure_owner    owns the schema and everything in it; upgrades run as it. No program that works needs it.
-- tenure_runtime  does what workers and servers do: every verb, no change of the schema.
-- tenure_enqueue  may call tenure.enqueue, and nothing else: it reads no payload and ends no work.
-- tenure_read     may read everything, payloads too, and write nothing.
--
-- None of them can log in: grant them to those who do (`grant tenure_enqueue to shop`). Run this in the database of
-- the store, as a superuser, or as whoever owns the schema and has CREATEROLE, after every migration. It is one
-- transaction, and may be run again at any time.

begin;

do $$
declare
    role text;
begin
    foreach role in array array['tenure_owner', 'tenure_runtime', 'tenure_enqueue', 'tenure_read'] loop
        begin
            execute format('create role %I nologin', role);
        exception when duplicate_object or unique_violation then
            null;
        end;
    end loop;
    -- Only a member may hand things over to the owner.
    if not pg_has_role('tenure_owner', 'usage') then
        execute format('grant tenure_owner to %I', current_user);
    end if;
end $$;

-- The owner. What a migration created under another name becomes its own: tenure.enqueue runs with its rights, which
-- must not be those of a superuser.
do $$
declare
    one record;
begin
    execute 'alter schema tenure owner to tenure_owner';
    for one in
        select format('alter %s %s owner to tenure_owner',
                      case c.relkind when 'v' then 'view' when 'S' then 'sequence' else 'table' end, c.oid::regclass) as ddl
          from pg_class c
         where c.relnamespace = 'tenure'::regnamespace and c.relkind in ('r', 'p', 'v', 'S')
           and c.relowner <> 'tenure_owner'::regrole
           -- A sequence of a column goes with its table.
           and not exists (select from pg_depend d where d.classid = 'pg_class'::regclass and d.objid = c.oid
                              and d.deptype in ('a', 'i') and c.relkind = 'S')
        union all
        select format('alter routine %s owner to tenure_owner', p.oid::regprocedure)
          from pg_proc p
         where p.pronamespace = 'tenure'::regnamespace and p.proowner <> 'tenure_owner'::regrole
    loop
        execute one.ddl;
    end loop;
end $$;

-- Nobody may what nobody was granted.
revoke all on schema tenure from public;
revoke all on all tables in schema tenure from public;
revoke all on all routines in schema tenure from public;

grant usage on schema tenure to tenure_runtime, tenure_enqueue, tenure_read;

grant select, insert, update, delete on all tables in schema tenure to tenure_runtime;
revoke insert, update, delete on tenure.migration, tenure.functions from tenure_runtime;
grant usage, select on all sequences in schema tenure to tenure_runtime;
-- A restored store moves its counter of tokens ahead.
grant update on sequence tenure.grant_counter to tenure_runtime;
grant execute on all routines in schema tenure to tenure_runtime;

grant execute on function tenure.enqueue(text, text, text, jsonb), tenure.enqueue(text, text, json, jsonb),
                          tenure.enqueue(text, text, jsonb, jsonb) to tenure_enqueue;

grant select on all tables in schema tenure to tenure_read;
-- Lists, counts and explanations are made of functions, which have no more rights than their caller: the verbs among
-- them fail at the tables. tenure.enqueue alone has its owner's rights.
grant execute on all routines in schema tenure to tenure_read;
revoke execute on function tenure.enqueue(text, text, text, jsonb), tenure.enqueue(text, text, json, jsonb),
                           tenure.enqueue(text, text, jsonb, jsonb) from tenure_read;

-- What an upgrade creates as the owner is covered at once; what it creates otherwise, when this is run again.
alter default privileges for role tenure_owner revoke execute on routines from public;
alter default privileges for role tenure_owner in schema tenure
    grant select, insert, update, delete on tables to tenure_runtime;
alter default privileges for role tenure_owner in schema tenure grant usage, select on sequences to tenure_runtime;
alter default privileges for role tenure_owner in schema tenure grant execute on routines to tenure_runtime;
alter default privileges for role tenure_owner in schema tenure grant select on tables to tenure_read;

commit;
