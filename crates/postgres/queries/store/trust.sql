-- store/trust.sql: whether a schema may be used, or what in it somebody could have planted for us to run.
-- Params $1 schema; $2 the role that owns this store by its name; $3 whether a migration asks, which runs whatever hangs on
--        the tables.
-- Reply  one row: whether the schema is there, who owns it, who asks; and of the first thing that is not trusted what it is
--        and whose. To be asked under a search path of `pg_catalog, pg_temp`.
-- Trust  in ourselves, superusers and the store's owner. Who only opens and is no superuser also trusts the owner of the
--        database and the roles it is a member of: it loses nothing to the latter, and came to the database of the former.
--        A superuser has more to lose, and trusts neither.
-- Index  those of the catalogs.
with me as (
    -- Whoever acts as another role is one word (`reset role`) away from their own.
    select r.oid, r.rolsuper or l.rolsuper as rolsuper
      from pg_roles r, pg_roles l where r.rolname = current_user and l.rolname = session_user
), trusted as (
    select r.oid from pg_roles r, me
     where r.oid = me.oid or r.rolsuper
        -- Names of two stores' owners can be the same: the script has written down whose it made.
        or r.rolname = $2
           and shobj_description(r.oid, 'pg_authid')
               = format('Tenure: schema %s of database %s', $1, current_database())
        or not $3 and not me.rolsuper
           and (pg_has_role(me.oid, r.oid, 'member')
                or r.oid = (select d.datdba from pg_database d where d.datname = current_database()))
), home as (
    select n.oid, n.nspname as name, n.nspowner as owner from pg_namespace n where n.nspname = $1
), thing as (
    select 1 as rank, format('schema %I', h.name) as what, h.owner as owner from home h
    union all
    select 2, format('%s %I.%I', case c.relkind when 'v' then 'view' when 'm' then 'materialized view' when 'S' then 'sequence'
                                               when 'f' then 'foreign table' when 'c' then 'type' else 'table' end,
                     h.name, c.relname), c.relowner
      from home h join pg_class c on c.relnamespace = h.oid and c.relkind in ('r', 'p', 'v', 'm', 'S', 'f', 'c')
    union all
    select 3, format('function %s', p.oid::regprocedure), p.proowner from home h join pg_proc p on p.pronamespace = h.oid
    union all
    select 4, format('type %I.%I', h.name, t.typname), t.typowner from home h join pg_type t on t.typnamespace = h.oid
     where not exists (select from pg_type e where e.typarray = t.oid)
    union all
    -- A trigger is made by whoever has the right to, and runs a function of theirs. Who migrates wants no other at all.
    select 5, format('trigger %I on %I.%I', t.tgname, h.name, c.relname), case when $3 then 0::oid else p.proowner end
      from home h join pg_class c on c.relnamespace = h.oid join pg_trigger t on t.tgrelid = c.oid and not t.tgisinternal
      join pg_proc p on p.oid = t.tgfoid
     where not (t.tgname = 'unit_guard' and c.relname = 'unit' and p.proname = 'unit_guard' and p.pronamespace = h.oid)
    union all
    select 5, format('rule %I on %I.%I', r.rulename, h.name, c.relname), 0::oid
      from home h join pg_class c on c.relnamespace = h.oid and c.relkind in ('r', 'p') join pg_rewrite r on r.ev_class = c.oid
     where $3
    union all
    select 5, format('policy %I on %I.%I', p.polname, h.name, c.relname), 0::oid
      from home h join pg_class c on c.relnamespace = h.oid join pg_policy p on p.polrelid = c.oid
     where $3
    union all
    select 6, format('row security on %I.%I', h.name, c.relname), 0::oid
      from home h join pg_class c on c.relnamespace = h.oid and (c.relrowsecurity or c.relforcerowsecurity)
     where $3
)
select exists (select from home) as there,
       (select pg_get_userbyid(h.owner)::text from home h) as schema_owner,
       current_user::text as asking,
       foreign_thing.what, foreign_thing.owner as whose
  from (select 1) one
  left join lateral (
       select t.what, case when t.owner <> 0 then pg_get_userbyid(t.owner)::text end as owner from thing t
        where t.owner not in (select oid from trusted)
        order by t.rank, t.what limit 1) foreign_thing on true
