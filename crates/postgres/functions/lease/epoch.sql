-- Tokens (L2): one counter for all units of the store, and the epoch, which counts how often it was moved ahead.
--
-- The counter is moved whenever the server is not the one that drew the last token. One more than the backup says is not
-- new: the same backup may have been restored before, or another standby promoted. Moved to where the clock says, it
-- leaves behind whatever any other history of this store can have drawn.
--
-- Looked at when a token is drawn, and at no other time: whoever opens a store or reads from it writes nothing, and can do
-- so on a standby.

-- This server and this database, as `epoch` knows them.
create or replace function tenure.epoch_here() returns tenure.epoch language sql as $$
    select true, 0, 0::bigint, (select c.system_identifier from pg_control_system() c),
           left(pg_walfile_name(pg_current_wal_lsn()), 8), 'tenure.lease'::regclass::oid,
           (select d.oid from pg_database d where d.datname = current_database()), pg_postmaster_start_time()
$$;

-- Raises the epoch: moves the counter to max(last + 1, milliseconds since 2026 x 2^12), and counts it.
-- Guard  refuses (TE005) to go beyond 2^53: a clock set far ahead would spend all tokens that are left.
-- Reply  the epoch and its base: tokens of jobs, units and chunks are larger, those of domains at least as large.
-- Locks  the row of `epoch`.
create or replace function tenure.new_epoch(by_actor text default null, out epoch integer, out base bigint)
language plpgsql set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    ms bigint := tenure.micros(tenure.clock()) / 1000 - 1767225600000;
begin
    insert into tenure.epoch select h.* from tenure.epoch_here() h on conflict do nothing;
    perform from tenure.epoch e for update;
    base := nextval('tenure.grant_counter');
    if ms >= 2199023255552 then
        raise exception 'no tokens are left where the clock is, %', tenure.clock() using errcode = 'TE005';
    elsif ms * 4096 > base then
        -- Raised by hand, others draw at this very moment: a million is more than they take between these two lines.
        base := greatest(ms * 4096, base + 1048576);
        perform setval('tenure.grant_counter', base);
    end if;
    update tenure.epoch e set epoch = e.epoch + 1, base = new_epoch.base returning e.epoch into epoch;
    perform tenure.note_changes('store', '', 'changed', array['epoch'], array[(epoch - 1)::text], array[epoch::text],
                                by_actor, tenure.clock());
end $$;

-- Raises the epoch if the server is not the one that drew the last token.
-- Called when somebody who draws finds that the server was restarted or replaced.
create or replace function tenure.check_epoch() returns integer language plpgsql
  security definer set search_path = pg_catalog, pg_temp as $$
declare
    known tenure.epoch;
    here tenure.epoch := tenure.epoch_here();
begin
    insert into tenure.epoch select here.* on conflict do nothing;
    select * into known from tenure.epoch for update;
    if (known.system_identifier, known.timeline, known.relation, known.database) is distinct from
       (here.system_identifier, here.timeline, here.relation, here.database) then
        known.epoch := (select r.epoch from tenure.new_epoch('store') r);
    end if;
    update tenure.epoch
       set system_identifier = here.system_identifier, timeline = here.timeline, relation = here.relation,
           database = here.database, server_started_at = here.server_started_at;
    return known.epoch;
end $$;

-- The base of the epoch, at this very moment. Raises TE001 where the server may not be the one that drew the last token:
-- the caller has the epoch checked, and asks again. A standby draws nothing (25006).
create or replace function tenure.token_base() returns bigint language plpgsql as $$
declare
    base bigint;
begin
    if pg_is_in_recovery() then
        raise exception 'tenure: a standby is read-only, and draws no token' using errcode = '25006';
    end if;
    select e.base into base from tenure.epoch e
     where e.timeline = left(pg_walfile_name(pg_current_wal_lsn()), 8)
       and e.server_started_at = pg_postmaster_start_time()
       and e.relation = 'tenure.lease'::regclass::oid
       and e.database = (select d.oid from pg_database d where d.datname = current_database());
    if not found then
        raise exception 'tenure: the server was restarted or replaced' using errcode = 'TE001';
    end if;
    return base;
end $$;

-- Draws `n` tokens, which grow. For whoever has locked the rows of the units: a number drawn before could be overtaken.
create or replace function tenure.draw_tokens(n integer) returns bigint[] language plpgsql as $$
begin
    perform tenure.token_base();
    return array(select nextval('tenure.grant_counter') from generate_series(1, n));
end $$;

-- The token of a unit that counts its own, as domains do (D5): larger than its last one, also if that was lost in a restore,
-- for then the epoch was raised. `base` is what `token_base` said. Core's `Token::next`.
create or replace function tenure.next_token(last_token bigint, base bigint) returns bigint
language sql immutable parallel safe as $$
    select greatest(last_token + 1, base)
$$;
