-- What every write of ours insists on, whatever the database's defaults are: each statement sees what was committed
-- before it (L10: locks are taken in one statement and judged in the next), and an answer means that it is on disk.
create or replace function tenure.durably() returns void language plpgsql as $$
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        raise exception 'tenure: transactions must be READ COMMITTED here' using errcode = 'TE002';
    end if;
    if current_setting('synchronous_commit') in ('off', 'local') then
        perform set_config('synchronous_commit', 'on', true);
    end if;
end $$;
