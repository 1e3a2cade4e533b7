-- store/examine.sql: what `tenure doctor` looks at, in one statement.
-- Reply  one row. Ages are in seconds; what is not visible to this role is null.
-- Index  none: views of the server, and one estimate from its statistics.
select current_setting('server_version') as version,
       current_setting('server_version_num')::int as version_num,
       current_setting('fsync') as fsync,
       current_setting('full_page_writes') as full_page_writes,
       current_setting('synchronous_commit') as synchronous_commit,
       current_setting('synchronous_standby_names') as standby_names,
       current_setting('autovacuum') as autovacuum,
       current_setting('default_transaction_isolation') as isolation,
       current_setting('default_transaction_read_only') as read_only,
       current_setting('max_connections')::int as connections_max,
       pg_is_in_recovery() as in_recovery,
       (select count(*)::int from pg_stat_activity a where a.backend_type = 'client backend') as connections,
       (select count(*)::int from pg_stat_replication r where r.sync_state in ('sync', 'quorum')) as sync_standbys,
       (select count(*)::int from pg_stat_replication r) as standbys,
       oldest.pid as oldest_pid,
       oldest.application_name as oldest_name,
       oldest.state as oldest_state,
       extract(epoch from clock_timestamp() - oldest.xact_start)::bigint as oldest_age_s,
       (select extract(epoch from clock_timestamp() - min(p.prepared))::bigint from pg_prepared_xacts p
         where p.database = current_database()) as prepared_age_s,
       (select s.slot_name::text from pg_replication_slots s where not s.active and (s.xmin is not null or s.catalog_xmin is not null)
         limit 1) as stale_slot,
       (select coalesce(sum(t.n_dead_tup), 0)::bigint from pg_stat_user_tables t
         where t.schemaname = $1 and t.relname in ('job', 'lease')) as dead_rows,
       (select coalesce(sum(t.n_live_tup), 0)::bigint from pg_stat_user_tables t
         where t.schemaname = $1 and t.relname in ('job', 'lease')) as live_rows,
       (select i.version::int from tenure.installed() i) as schema_version,
       current_user::text as role,
       session_user::text as login,
       (select r.rolsuper from pg_roles r where r.rolname = current_user) as superuser,
       (select pg_has_role(n.nspowner, 'usage') from pg_namespace n where n.nspname = $1) as owner,
       has_table_privilege('tenure.job', 'update') as writes,
       has_table_privilege('tenure.job', 'select') as reads
  from (select 1) one
  left join lateral (
       select a.pid, a.application_name, a.state, a.xact_start from pg_stat_activity a
        where a.datname = current_database() and a.pid <> pg_backend_pid() and a.xact_start is not null
          and a.backend_xmin is not null
        order by a.xact_start limit 1) oldest on true
