-- What the verbs of syncs share.

-- Where a sync or chunk stands at `now` (S1).
create or replace function tenure.sync_state(
    completed_at timestamptz, failed_at timestamptz, locked_until timestamptz, now timestamptz
) returns text language sql immutable parallel safe as $$
    select case when completed_at is not null then 'COMPLETED' when failed_at is not null then 'FAILED'
                when locked_until > now then 'RUNNING' when locked_until is not null then 'EXPIRED'
                else 'AVAILABLE' end
$$;

-- Milliseconds from `then` to `now`, whole, never below zero.
create or replace function tenure.sync_gap_ms(since timestamptz, now timestamptz) returns bigint
language sql immutable parallel safe as $$
    select greatest((tenure.micros(now) - tenure.micros(since)) / 1000, 0)
$$;

-- Keeps an ended claim for its hour (L12).
create or replace function tenure.sync_remember(
    of_sync bigint, hash text, of_token bigint, of_owner text, of_verb text, of_state text, is_cancelled boolean,
    now timestamptz
) returns void language sql as $$
    insert into tenure.sync_receipt (sync, chunk_hash, token, owner, verb, state, cancelled, at)
    values (of_sync, hash, of_token, of_owner, of_verb, of_state, is_cancelled, now)
    on conflict do nothing
$$;

-- Writes an event down (L8).
create or replace function tenure.sync_note(
    now timestamptz, of_sync bigint, hash text, of_what text, of_token bigint, of_owner text, of_attempt integer,
    of_reason text, of_error text, by_actor text default null
) returns void language sql as $$
    insert into tenure.sync_event (at, sync, chunk_hash, what, token, owner, by, attempt, reason, error)
    values (now, of_sync, hash, of_what, of_token, of_owner, by_actor, of_attempt, of_reason, left(of_error, 200))
$$;

-- When a chunk of a sync was last done in this pass; null if none was.
-- Index  sync_chunk_done, pinned.
create or replace function tenure.sync_last_done(of_sync bigint) returns timestamptz language sql stable
  set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off
as $$
    select k.completed_at from tenure.sync_chunk k
     where k.sync = of_sync and k.completed_at is not null and k.claimed_at is not null
     order by k.completed_at desc limit 1
$$;

-- Crashes of a sync that count: those since a chunk of it was last done (L6), or as many as there were when it ended.
create or replace function tenure.sync_crashes(the tenure.sync_job) returns integer language sql stable as $$
    select case when the.crashes = 0 or the.completed_at is not null or the.failed_at is not null
                  or the.crashes_since is not distinct from tenure.sync_last_done(the.id) then the.crashes else 0 end
$$;

-- Why a write is not plainly held: `state` from a receipt (L12), else the reason the lease is lost (L3), counted into the
-- one event of that token and reason (L8).
create or replace function tenure.sync_judge(
    of_sync bigint, hash text, of_owner text, of_token bigint, of_verb text, now timestamptz,
    out state text, out lost text
) language plpgsql as $$
#variable_conflict use_column
declare
    the tenure.sync_job;
    one tenure.sync_chunk;
    kept tenure.sync_receipt;
    on_record boolean;
begin
    select j.* into the from tenure.sync_job j where j.id = of_sync;
    if not found then
        lost := 'unknown';
        return;
    end if;
    if hash = '' then
        on_record := true;
    else
        select c.* into one from tenure.sync_chunk c where c.matrix_id = the.matrix_id and c.chunk_hash = hash;
        on_record := one.sync is not distinct from of_sync;
        the.token := one.token;
        the.locked_by := one.locked_by;
        the.locked_until := one.locked_until;
    end if;
    select r.* into kept from tenure.sync_receipt r
     where r.sync = of_sync and r.chunk_hash = hash and r.token = of_token and r.owner = of_owner;
    select v.state, v.lost into state, lost from tenure.judge_claim(
        of_verb, of_token, found, kept.verb, kept.state, kept.cancelled, the.token,
        case when on_record and the.token = of_token and the.locked_by = of_owner then the.locked_until end, now) v;
    if state is not null then
        return;
    end if;
    -- The caller has seen that it is not held: what a transaction that is still open has renewed is not yet.
    lost := coalesce(lost, 'expired');
    if on_record or kept.token is not null then
        insert into tenure.sync_event as e (at, sync, chunk_hash, what, token, owner, verb, lost)
        values (now, of_sync, hash, 'refused', of_token, of_owner, of_verb, sync_judge.lost)
        on conflict (sync, chunk_hash, token, lost) where what = 'refused' do update
           set first_at = coalesce(e.first_at, e.at), at = excluded.at, owner = excluded.owner, verb = excluded.verb,
               count = e.count + 1;
    end if;
end $$;
