-- What ends without a holder: leases that run out (L7), and syncs with all that is held of them (S6).

-- How far a sync has come, as of one instant.
create or replace function tenure.sync_progress(
    of_sync bigint, now timestamptz,
    out available bigint, out running bigint, out expired bigint, out completed bigint, out failed bigint,
    out skipped bigint, out row_sum bigint, out began_at timestamptz, out last_done_at timestamptz
) language sql stable set search_path = pg_catalog, pg_temp as $$
    select count(*) filter (where c.completed_at is null and c.failed_at is null and c.locked_until is null),
           count(*) filter (where c.locked_until > now),
           count(*) filter (where c.locked_until <= now),
           count(c.completed_at), count(c.failed_at),
           count(*) filter (where c.completed_at is not null and c.claimed_at is null),
           least(coalesce(sum(c.row_count) filter (where c.completed_at is not null and c.claimed_at is not null), 0),
                 9007199254740991)::bigint,
           min(c.claimed_at), max(c.completed_at) filter (where c.claimed_at is not null)
      from tenure.sync_chunk c where c.sync = of_sync
$$;

-- Shuts out whoever claims or ends a chunk of a sync, so that what is read next stays true.
-- Locks  the sync's row, which claims and completions in a transaction of the caller's own share: however long one of
--        those stays open, it is waited for here, with nothing locked that a heartbeat, a claim or another chunk needs.
--        Then the chunks that are leased, in the order of the plan: whoever has one of these is about to let it go.
-- Reply  the sync, unless there is none.
create or replace function tenure.sync_shut(of_sync bigint) returns setof tenure.sync_job language plpgsql as $$
begin
    return query select j.* from tenure.sync_job j where j.id = of_sync for update;
    perform from tenure.sync_chunk k where k.sync = of_sync and k.locked_until is not null
      order by k.ord for no key update;
end $$;

-- As sync_shut, of a sync whose row the caller holds, and without waiting for anybody.
-- Reply  whether all are shut out.
create or replace function tenure.sync_try_shut(of_sync bigint) returns boolean language plpgsql as $$
declare
    shut bigint;
begin
    perform from tenure.sync_job j where j.id = of_sync for update skip locked;
    if not found then
        return false;
    end if;
    perform from tenure.sync_chunk k where k.sync = of_sync and k.locked_until is not null
      for no key update skip locked;
    get diagnostics shut = row_count;
    return shut = (select count(*) from tenure.sync_chunk k where k.sync = of_sync and k.locked_until is not null);
end $$;

-- Ends a sync, and with it the leases of its chunks. A lease that ran out before stays lost for that reason.
-- Locks  nothing more: the caller has shut the others out.
create or replace function tenure.sync_end(
    of_sync bigint, of_state text, of_reason text, of_error text, now timestamptz, of_crashes integer
) returns void language plpgsql as $$
declare
    c tenure.sync_chunk;
    done record;
begin
    for c in select k.* from tenure.sync_chunk k where k.sync = of_sync and k.locked_until is not null
              order by k.ord loop
        perform tenure.sync_remember(of_sync, c.chunk_hash, c.token, c.locked_by, null, null, c.locked_until > now, now);
        if c.locked_until > now then
            perform tenure.sync_note(now, of_sync, c.chunk_hash, 'cancelled', c.token, c.locked_by, null, null, null);
        elsif not c.told then
            perform tenure.sync_note(now, of_sync, c.chunk_hash, 'expired', c.token, c.locked_by, c.attempt, null, null);
        end if;
        update tenure.sync_chunk k
           set locked_by = null, locked_until = null, lease_ms = null, told = false, beats = 0, last_beat_at = null,
               longest_gap_ms = 0
         where k.matrix_id = c.matrix_id and k.chunk_hash = c.chunk_hash and k.token = c.token;
    end loop;
    select * into done from tenure.sync_progress(of_sync, now);
    update tenure.sync_job j
       set completed_at = case of_state when 'COMPLETED' then now end,
           failed_at = case of_state when 'FAILED' then now end,
           reason = of_reason, error_message = coalesce(of_error, j.error_message), crashes = of_crashes,
           locked_by = null, locked_until = null, lease_ms = null, told = false, beats = 0, last_beat_at = null,
           longest_gap_ms = 0,
           done_available = done.available + done.running + done.expired, done_completed = done.completed,
           done_failed = done.failed, done_skipped = done.skipped, done_rows = done.row_sum,
           done_began_at = done.began_at, done_last_at = done.last_done_at
     where j.id = of_sync;
end $$;

-- Crashes of a sync, its present lease included, which ran out, where a chunk was last done at `done_at`. A lease that
-- ran out before that does not count, however late it is noticed (L6).
create or replace function tenure.sync_crashes_now(the tenure.sync_job, done_at timestamptz) returns integer
language sql immutable as $$
    select case when the.crashes_since is not distinct from done_at then the.crashes else 0 end
         + case when the.locked_until <= done_at then 0 else 1 end
$$;

-- Notices that the lease of a sync ran out, once for its token. The caller holds its row.
-- Reply  whether that ended it; null where it might, and somebody is at one of its chunks: nothing is done, for a
--        completion under way may be the progress that makes the crashes void.
create or replace function tenure.sync_tell_job(the tenure.sync_job, now timestamptz) returns boolean
language plpgsql as $$
declare
    done_at timestamptz;
    counted integer;
begin
    if the.locked_until is null or the.locked_until > now or the.told then
        return false;
    end if;
    done_at := tenure.sync_last_done(the.id);
    counted := tenure.sync_crashes_now(the, done_at);
    if counted >= the.crashes_max then
        if not tenure.sync_try_shut(the.id) then
            return null;
        end if;
        done_at := tenure.sync_last_done(the.id);
        counted := tenure.sync_crashes_now(the, done_at);
    end if;
    perform tenure.sync_note(now, the.id, '', 'expired', the.token, the.locked_by, counted, null, null);
    if the.crashes_max is null or counted < the.crashes_max then
        update tenure.sync_job j set told = true, crashes = counted, crashes_since = done_at
         where j.id = the.id and j.token = the.token;
        return false;
    end if;
    perform tenure.sync_remember(the.id, '', the.token, the.locked_by, null, null, false, now);
    perform tenure.sync_note(now, the.id, '', 'failed', the.token, the.locked_by, null, 'crash_limit', null);
    perform tenure.sync_end(the.id, 'FAILED', 'crash_limit', 'crash_limit', now, counted);
    return true;
end $$;

-- Notices that the lease of a chunk ran out, once for its token. The caller holds its row.
-- Reply  whether that ended it.
create or replace function tenure.sync_tell_chunk(c tenure.sync_chunk, now timestamptz) returns boolean
language plpgsql as $$
declare
    crashed_out boolean := c.attempt >= c.attempts_max;
begin
    if c.locked_until is null or c.locked_until > now or c.told then
        return false;
    end if;
    perform tenure.sync_note(now, c.sync, c.chunk_hash, 'expired', c.token, c.locked_by, c.attempt, null, null);
    if not crashed_out then
        update tenure.sync_chunk k set told = true
         where k.matrix_id = c.matrix_id and k.chunk_hash = c.chunk_hash and k.token = c.token;
        return false;
    end if;
    perform tenure.sync_remember(c.sync, c.chunk_hash, c.token, c.locked_by, null, null, false, now);
    perform tenure.sync_note(now, c.sync, c.chunk_hash, 'failed', c.token, c.locked_by, c.attempt, 'crash_limit', null);
    update tenure.sync_chunk k
       set failed_at = now, reason = 'crash_limit', error_message = 'crash_limit', locked_by = null, locked_until = null,
           lease_ms = null, told = false, beats = 0, last_beat_at = null, longest_gap_ms = 0
     where k.matrix_id = c.matrix_id and k.chunk_hash = c.chunk_hash and k.token = c.token;
    return true;
end $$;

-- Ends a sync at once: whoever holds it or one of its chunks is told `cancelled`. Waits only for those who are completing
-- a chunk in a transaction of their own, and keeps nobody else waiting meanwhile.
create or replace function tenure.cancel_sync(
    of_sync bigint, said text, by_actor text default null, out state text, out refusal text
) language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    the tenure.sync_job;
    now timestamptz;
    counted integer;
begin
    perform tenure.durably();
    select s.* into the from tenure.sync_shut(of_sync) s;
    if not found then
        refusal := 'not_found';
        return;
    end if;
    if the.completed_at is not null or the.failed_at is not null then
        refusal := 'terminal';
        return;
    end if;
    now := tenure.clock();
    counted := tenure.sync_crashes(the);
    if the.locked_until is not null then
        if the.locked_until <= now and not the.told then
            perform tenure.sync_note(now, of_sync, '', 'expired', the.token, the.locked_by, counted, null, null);
        end if;
        perform tenure.sync_remember(of_sync, '', the.token, the.locked_by, null, null, the.locked_until > now, now);
    end if;
    perform tenure.sync_note(now, of_sync, '', 'cancelled', null, null, null, 'cancelled', said, tenure.actor(by_actor));
    perform tenure.sync_end(of_sync, 'FAILED', 'cancelled', 'cancelled', now, counted);
    state := 'FAILED';
end $$;

-- Writes down leases that ran out, at most `leases_max`, once for each token; they stay in place (S1). What another is
-- busy with is passed over, and rows that cannot be dealt with stop none of the others, however many they are.
-- Index  sync_job_locked, sync_chunk_untold, pinned: without a limit the planner might rather sort all that ran out.
create or replace function tenure.recover_syncs(leases_max integer, out leases integer, out failed integer)
language plpgsql set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off
as $$
declare
    now timestamptz := tenure.clock();
    the tenure.sync_job;
    c tenure.sync_chunk;
    ended boolean;
begin
    perform tenure.durably();
    leases := 0;
    failed := 0;
    for the in select j.* from tenure.sync_job j where j.locked_until <= now and not j.told
                order by j.locked_until, j.id for no key update skip locked loop
        exit when leases >= leases_max;
        begin
            ended := tenure.sync_tell_job(the, now);
            leases := leases + (ended is not null)::integer;
            failed := failed + coalesce(ended, false)::integer;
        exception when others then
            raise warning 'tenure: sync % could not be recovered: %', the.id, sqlerrm;
        end;
    end loop;
    for c in select k.* from tenure.sync_chunk k where k.locked_until <= now and not k.told
              order by k.locked_until, k.sync, k.ord for no key update skip locked loop
        exit when leases >= leases_max;
        begin
            failed := failed + tenure.sync_tell_chunk(c, now)::integer;
            leases := leases + 1;
        exception when others then
            raise warning 'tenure: a chunk of sync % could not be recovered: %', c.sync, sqlerrm;
        end;
    end loop;
end $$;

-- Removes what is no longer kept, at most `n_max` of each kind (I19). A sync goes once nothing of it is left; the last of
-- each matrix stays, and with it what its chunks know.
create or replace function tenure.prune_syncs(
    n_max integer, out syncs integer, out chunks integer, out events integer, out receipts integer
) language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    now timestamptz := tenure.clock();
    old bigint;
    n integer;
begin
    perform tenure.durably();
    syncs := 0; chunks := 0; events := 0;
    delete from tenure.sync_receipt r
     where r.ctid = any (array(
        select o.ctid from tenure.sync_receipt o
         where o.at <= now - interval '1 hour' order by o.at limit n_max for update skip locked));
    get diagnostics receipts = row_count;
    for old in select j.id from tenure.sync_job j
                where (j.completed_at is not null or j.failed_at is not null)
                  and coalesce(j.completed_at, j.failed_at) <= now - interval '7 days'
                  and exists (select from tenure.sync_job l where l.matrix_id = j.matrix_id and l.id > j.id)
                limit n_max for update skip locked loop
        -- One that a plan is taking over at this moment is left to it.
        delete from tenure.sync_chunk c where c.ctid = any (array(
            select k.ctid from tenure.sync_chunk k where k.sync = old order by k.ord limit n_max - chunks
               for update skip locked));
        get diagnostics n = row_count;
        chunks := chunks + n;
        delete from tenure.sync_event e where e.id in (
            select o.id from tenure.sync_event o where o.sync = old order by o.id limit n_max - events);
        get diagnostics n = row_count;
        events := events + n;
        delete from tenure.sync_job j
         where j.id = old and not exists (select from tenure.sync_chunk c where c.sync = old)
           and not exists (select from tenure.sync_event e where e.sync = old);
        get diagnostics n = row_count;
        syncs := syncs + n;
    end loop;
end $$;
