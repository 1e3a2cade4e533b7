-- The epoch of tokens (L2): raised whenever the server is not the one that drew the last token.
-- Reply  the epoch that is now in force.
-- Called when the store opens and when a claim finds that the server was restarted or replaced.
create or replace function tenure.check_epoch() returns integer language plpgsql as $$
declare
    known tenure.epoch;
    here_system bigint := (select system_identifier from pg_control_system());
    here_timeline text := left(pg_walfile_name(pg_current_wal_lsn()), 8);
    here_relation oid := 'tenure.lease'::regclass::oid;
begin
    insert into tenure.epoch values (true, 0, here_system, here_timeline, here_relation, pg_postmaster_start_time())
        on conflict do nothing;
    select * into known from tenure.epoch for update;
    if (known.system_identifier, known.timeline, known.relation) is distinct from
       (here_system, here_timeline, here_relation) then
        known.epoch := known.epoch + 1;
    end if;
    update tenure.epoch
       set epoch = known.epoch, system_identifier = here_system, timeline = here_timeline, relation = here_relation,
           server_started_at = pg_postmaster_start_time();
    return known.epoch;
end $$;

-- Raises the epoch by hand. No row if it was the last.
create or replace function tenure.new_epoch() returns integer language sql as $$
    update tenure.epoch set epoch = epoch + 1 where epoch < 8191 returning epoch;
$$;
