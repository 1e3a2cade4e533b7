-- Roles with no more rights than they need. `tenure migrate --print-roles` prints this for the store that it is given.
--
-- {owner}    owns the schema and everything in it; upgrades run as it. No program needs it.
-- {runtime}  does what servers and operators do: every verb; reads and writes the tables, changes no schema.
-- {work}     does what workers do: calls the verbs of holders and of whoever adds work, and no table.
-- {enqueue}  may call {schema}.enqueue, and nothing else: it reads no payload and ends no work.
-- {read}     may read everything, payloads too, and write nothing.
--
-- None of them can log in: grant them to those who do (`grant {work} to worker`). Roles belong to the whole server, so they
-- are named after the database too: what is granted here opens no other store. Run this in the database of the store,
-- as a superuser, or as whoever owns the schema and has CREATEROLE, after every migration. It is one transaction, and may
-- be run again at any time. What Tenure did not make is left alone.

begin;

set local search_path = pg_catalog, pg_temp;
set local tenure.database = '{database}';

-- In the right place, and among nobody else's things: a table that somebody planted under our name would be granted, a
-- function would run as the owner.
do $$
declare
    home oid := (select n.oid from pg_namespace n where n.nspname = '{schema}');
    planted record;
begin
    if current_database() <> current_setting('tenure.database') then
        raise exception 'this script is for the database %, not for %', current_setting('tenure.database'), current_database();
    end if;
    if home is null then
        raise exception 'there is no schema {schema} here: run `tenure migrate` first';
    end if;
    select t.what, pg_get_userbyid(t.owner) as whose into planted
          from (select 1 as rank, 'schema {schema}' as what, n.nspowner as owner from pg_namespace n where n.oid = home
                union all
                select 2, c.oid::regclass::text, c.relowner from pg_class c where c.relnamespace = home
                union all
                select 3, p.oid::regprocedure::text, p.proowner from pg_proc p where p.pronamespace = home) t
          join pg_roles r on r.oid = t.owner
         where r.rolname not in (current_user, '{owner}') and not r.rolsuper
         order by t.rank, t.what limit 1;
    if found then
        raise exception '% belongs to %: it is not trusted, and nothing was granted', planted.what, planted.whose
            using hint = format('in a database that was copied or renamed, and where %1$I owns nothing else: reassign owned by '
                                '%1$I to %2$I, and run this again', planted.whose, current_user);
    end if;
end $$;

-- A role that was there before must be this store's, for whoever has it would be let in.
do $$
declare
    mark constant text := format('Tenure: schema {schema} of database %s', current_database());
    -- Where they made it their own before, whoever has them was given them here.
    settled constant boolean := (select n.nspowner = to_regrole('{owner}') from pg_namespace n where n.nspname = '{schema}');
    role text;
    members text;
begin
    foreach role in array array['{owner}', '{runtime}', '{work}', '{enqueue}', '{read}'] loop
        begin
            execute format('create role %I nologin', role);
            execute format('comment on role %I is %L', role, mark);
        exception when duplicate_object or unique_violation then
            if shobj_description(role::regrole, 'pg_authid') is distinct from mark then
                raise exception 'the role % is there already, and is not this store''s', role
                    using hint = format('rename or drop it; or, if you made it for this: comment on role %I is %L', role, mark);
            end if;
            members := (select string_agg(format('%I', m.rolname), ', ' order by m.rolname)
                          from pg_auth_members a join pg_roles m on m.oid = a.member
                         where a.roleid = role::regrole and m.rolname not in (current_user, '{owner}'));
            if members is not null and settled is not true then
                raise exception 'the role % was made for an earlier database of this name, and % would be let into this one',
                                role, members
                    using hint = format('revoke %I from %s; then run this again, and grant it to those who should have it', role, members);
            end if;
        end;
    end loop;
    -- Only a member may hand things over to the owner.
    if not pg_has_role('{owner}', 'usage') then
        execute format('grant {owner} to %I', current_user);
    end if;
end $$;

-- Everything by its name.
do $$
declare
    tables constant text[] := array[
        'epoch', 'engine', 'queue', 'job', 'lease', 'note', 'finished', 'receipt', 'dedup', 'gate', 'touch', 'walk', 'slack',
        'event', 'change', 'sighting', 'schedule', 'firing', 'domain', 'domain_range', 'domain_waiting',
        'domain_event', 'domain_refusal', 'sync_job', 'sync_chunk', 'sync_receipt', 'sync_event', 'pipeline',
        'pipeline_stage', 'run', 'run_touched', 'unit', 'unit_attempt', 'unit_event'];
    -- Written by upgrades alone.
    books constant text[] := array['migration', 'functions'];
    views constant text[] := array['work_queue', 'work_leases', 'sync_jobs', 'sync_checkpoints', 'stages', 'changes'];
    sequences constant text[] := array['job_id', 'grant_counter', 'schedule_revision', 'sync_id', 'run_id', 'unit_id'];
    of_enqueue constant text[] := array['enqueue'];
    -- Beside the verbs that have their owner's rights, what those need who call them.
    of_work constant text[] := array['clock', 'enqueue', 'enqueue_all'];
    one record;
begin
    -- The owner. What was created under another name becomes its own: verbs run with its rights, which must not be
    -- those of a superuser.
    alter schema {schema} owner to {owner};
    revoke all on schema {schema} from public;
    grant usage on schema {schema} to {runtime}, {work}, {enqueue}, {read};

    for one in
        select c.oid::regclass as name, c.relname = any (tables) as written
          from pg_class c
         where c.relnamespace = '{schema}'::regnamespace and c.relname = any (tables || books || views)
           and c.relkind in ('r', 'p', 'v')
    loop
        execute format('alter table %s owner to {owner}', one.name);
        execute format('revoke all on %s from public, {runtime}, {work}, {enqueue}, {read}', one.name);
        execute format('grant select on %s to {runtime}, {read}', one.name);
        if one.written then
            execute format('grant insert, update, delete on %s to {runtime}', one.name);
        end if;
    end loop;

    for one in
        select c.oid::regclass as name, c.relname from pg_class c
         where c.relnamespace = '{schema}'::regnamespace and c.relname = any (sequences) and c.relkind = 'S'
    loop
        execute format('alter sequence %s owner to {owner}', one.name);
        execute format('revoke all on sequence %s from public, {runtime}, {work}, {enqueue}, {read}', one.name);
        execute format('grant usage, select on sequence %s to {runtime}', one.name);
    end loop;
    -- A restored store moves its counter of tokens ahead.
    grant update on sequence {schema}.grant_counter to {runtime};
    alter type {schema}.candidate owner to {owner};
    alter type {schema}.domain_ask owner to {owner};
    alter type {schema}.unit_beat owner to {owner};

    -- The verbs. Those of whoever works have their owner's rights (prosecdef); of these the read role may call what cannot
    -- write (stable). The others have no more than their caller's, and fail at the tables.
    for one in
        select p.oid::regprocedure as name, p.proname, p.prosecdef, p.provolatile
          from pg_proc p
         where p.pronamespace = '{schema}'::regnamespace
           and (p.proname in ('clock', 'unit_guard')
                or p.oid in (select to_regprocedure(n.name) from {schema}.functions f, unnest(f.names) as n(name)))
    loop
        execute format('alter routine %s owner to {owner}', one.name);
        execute format('revoke all on routine %s from public, {runtime}, {work}, {enqueue}, {read}', one.name);
        execute format('grant execute on routine %s to {runtime}', one.name);
        if one.prosecdef or one.proname = any (of_work) then
            execute format('grant execute on routine %s to {work}', one.name);
        end if;
        if one.proname = any (of_enqueue) then
            execute format('grant execute on routine %s to {enqueue}', one.name);
        end if;
        if not one.prosecdef and one.proname <> all (of_enqueue) or one.prosecdef and one.provolatile = 's' then
            execute format('grant execute on routine %s to {read}', one.name);
        end if;
    end loop;
end $$;

-- What an upgrade creates, as the owner, is the runtime role's and the read role's at once; verbs that are new to whoever
-- works, when this is run again.
alter default privileges for role {owner} revoke execute on routines from public;
alter default privileges for role {owner} in schema {schema} grant select, insert, update, delete on tables to {runtime};
alter default privileges for role {owner} in schema {schema} grant usage, select on sequences to {runtime};
alter default privileges for role {owner} in schema {schema} grant execute on routines to {runtime};
alter default privileges for role {owner} in schema {schema} grant select on tables to {read};

commit;
