-- Writes a row and takes it back: whether this server accepts writes now. One that only reads, or has no room, raises.
-- Locks  none but the row's, which nobody knows.
create or replace function tenure.ready() returns void language plpgsql as $$
begin
    insert into tenure.sighting (owner, queue, kinds_key, first_seen_at, seen_at)
    values (pg_backend_pid()::text, '', '', tenure.clock(), tenure.clock());
    raise sqlstate 'TN200';
exception when sqlstate 'TN200' then
    null;
end $$;
