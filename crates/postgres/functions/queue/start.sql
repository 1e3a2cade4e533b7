-- Marks the first `upto` jobs of a shared lease as started, before their handlers run (L6).
-- Guard  token, owner and an unexpired lease, judged after the row is locked.
-- Reply  null, or the reason the lease is lost.
create or replace function tenure.start(token bigint, owner text, upto integer) returns text language plpgsql
  security definer set search_path = pg_catalog, pg_temp as $$
declare
    held tenure.lease;
begin
    perform tenure.durably();
    select l.* into held from tenure.lease l where l.token = start.token for no key update;
    -- Nothing may be left under it: the last ended in its caller's own transaction.
    if not found or held.owner <> start.owner
       or held.left_count <= (select count(*) from tenure.slack s where s.token = held.token) then
        return 'unknown';
    end if;
    if held.expires_at <= tenure.clock() then
        return 'expired';
    end if;
    update tenure.lease l set started = greatest(l.started, least(upto, cardinality(l.units)))
     where l.token = start.token;
    return null;
end $$;
