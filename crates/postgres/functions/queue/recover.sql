-- Returns the work of one lease that ran out (Q5, L6, L11). The caller holds the lease row.
-- Reply  how many jobs went back, and how many failed for good.
-- Guard  of `of_units`, which the caller has locked, those that still run under this very token.
create or replace function tenure.recover_units(
    gone tenure.lease, now timestamptz, of_units bigint[],
    out requeued integer, out failed integer
) language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
    -- Its own timeout ended it, not a silence of its worker.
    timed_out boolean := coalesce(gone.ends_at = gone.expires_at, false);
    ended record;
begin
    with unit as (
        select u.id, u.ord <= gone.started as started, j.cancel_requested,
               case when jsonb_array_length(j.attempts) >= 100 then j.attempts -> 0 end as evicted,
               j.cancel_requested or u.ord <= gone.started and j.attempt >= j.attempts_max as spent,
               case when timed_out then 'took longer than ' || coalesce(j.timeout_ms, 0) || ' ms' end as said
          from unnest(gone.units) with ordinality as u(id, ord)
          join tenure.job j on j.id = u.id and j.running and j.token = gone.token
         where u.id = any (of_units)
    ), spent as (
        delete from tenure.job j using unit u
         where j.id = u.id and j.running and j.token = gone.token and u.spent
        returning j, j.id, j.queue, j.limit_key, j.ordering_key, j.attempt, u.said,
                  case when u.cancel_requested then 'cancelled' when timed_out then 'timeout' else 'crash_limit' end
                      as reason
    ), back as (
        update tenure.job j
           set running = false,
               place = case when j.run_at > now then 2
                            when j.limit_key is not null or j.ordering_key is not null then 3 else 1 end,
               attempt = case when u.started then j.attempt else j.attempt - 1 end,
               error = coalesce(u.said, j.error),
               attempts = tenure.with_attempt(j.attempts, gone, now, 'expired', null, u.said)
          from unit u
         where j.id = u.id and j.running and j.token = gone.token and not u.spent
        returning j.id, j.queue, j.limit_key, j.ordering_key, u.evicted, u.said,
                  case when u.started then j.attempt end as attempt
    ), told as (
        insert into tenure.event (at, job, what, token, owner, attempt, reason, error)
        select now, e.id, e.what, gone.token, gone.owner, e.attempt, e.reason, left(e.said, 200)
          from (select s.id, 'expired' as what, s.attempt, null as reason, s.said, 0 as rank from spent s
                union all
                select s.id, case s.reason when 'cancelled' then 'cancelled' else 'failed' end, s.attempt, s.reason,
                       s.said, 1 from spent s
                union all
                select b.id, 'expired', b.attempt, null, b.said, 0 from back b) e
         order by e.id, e.rank
    ), receipts as (
        insert into tenure.receipt (job, token, at, owner, verb, status, cancelled)
        select b.id, r.* from back b, tenure.receipt_of(b.evicted) r
         where b.evicted is not null and r.at > now - interval '1 hour'
        on conflict do nothing
    ), gated as (
        select s.id, s.queue, s.limit_key, s.ordering_key, s.reason <> 'cancelled' as blocks from spent s
         where s.limit_key is not null or s.ordering_key is not null
        union all
        select b.id, b.queue, b.limit_key, b.ordering_key, false from back b
         where b.limit_key is not null or b.ordering_key is not null
    )
    select (select count(*) from back) as back,
           (select array_agg(tenure.to_history(s.j, gone, now, s.reason, 'expired', s.said)) from spent s) as spent,
           array_agg(g.id) as ids, array_agg(g.queue) as queues, array_agg(g.limit_key) as limit_keys,
           array_agg(g.ordering_key) as ordering_keys, array_agg(g.blocks) as blocks
      into ended from gated g;
    requeued := ended.back;
    failed := coalesce(cardinality(ended.spent), 0);
    if ended.ids is not null then
        perform tenure.touch_ended(ended.ids, ended.queues, ended.limit_keys, ended.ordering_keys, ended.blocks);
    end if;
    if failed > 0 then
        perform tenure.forget_unkept(ended.spent, array[gone.queue], now);
    end if;
end $$;

-- Returns the work of leases that ran out, at most `leases_max` of them, oldest first (L7).
-- Parameters  `queues` narrows it to some queues; null is all.
-- Skips       what another is busy with: a lease, or single jobs of one, as those that a user's transaction keeps with
--             `held`. The others go back, and their lease is tried again behind all that are not stuck; that of a unit
--             which cannot be returned at all, a minute later. Trouble of the server (a deadlock, a timeout, a full disk) says
--             nothing about a unit: it ends the call, which can be repeated.
-- Locks       leases, then jobs. Waits for nobody.
create or replace function tenure.recover(
    leases_max integer, queues text[],
    out leases integer, out requeued integer, out failed integer
) language plpgsql set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off set lock_timeout = '2s'
as $$
declare
    expired bigint[];
    gone tenure.lease;
    one record;
    unit bigint;
    free bigint[];
    returned integer;
    still integer;
    wait interval;
    -- Read after the lock, for each row: waiting for it may have taken long (L5).
    now timestamptz;
begin
    perform tenure.durably();
    leases := 0; requeued := 0; failed := 0;
    expired := array(
        select l.token from tenure.lease l
         where l.stuck_until is null and l.expires_at <= tenure.clock() and (queues is null or l.queue = any (queues))
         order by l.expires_at, l.token limit leases_max for no key update skip locked);
    expired := expired || array(
        select l.token from tenure.lease l
         where l.stuck_until <= tenure.clock() and l.expires_at <= tenure.clock()
           and (queues is null or l.queue = any (queues))
         order by l.stuck_until limit leases_max - cardinality(expired) for no key update skip locked);
    for i in 1 .. cardinality(expired) loop
        select l.* into gone from tenure.lease l where l.token = expired[i];
        now := tenure.clock();
        free := array(select j.id from tenure.job j
                       where j.id = any (gone.units) and j.running and j.token = gone.token
                       order by j.id for update skip locked);
        returned := 0;
        wait := interval '0';
        begin
            select * into one from tenure.recover_units(gone, now, free);
            returned := one.requeued + one.failed;
            requeued := requeued + one.requeued;
            failed := failed + one.failed;
        exception
            when transaction_rollback or insufficient_resources or operator_intervention or lock_not_available
                 or system_error then
                raise;
            when others then
                raise warning 'tenure: lease % could not be returned whole: %', gone.token, sqlerrm;
                wait := interval '1 minute';
                foreach unit in array free loop
                    begin
                        select * into one from tenure.recover_units(gone, now, array[unit]);
                        returned := returned + one.requeued + one.failed;
                        requeued := requeued + one.requeued;
                        failed := failed + one.failed;
                    exception
                        when transaction_rollback or insufficient_resources or operator_intervention
                             or lock_not_available or system_error then
                            raise;
                        when others then
                            null;
                    end;
                end loop;
        end;
        still := (select count(*) from tenure.job j
                   where j.id = any (gone.units) and j.running and j.token = gone.token);
        leases := leases + case when returned > 0 or still = 0 then 1 else 0 end;
        if still = 0 then
            perform from tenure.lease l where l.token = gone.token for update skip locked;
            if found then
                delete from tenure.lease l where l.token = gone.token;
                delete from tenure.slack s where s.token = gone.token;
                continue;
            end if;
        end if;
        -- What ended in its caller's own transaction is not among those that still run.
        delete from tenure.slack s where s.token = gone.token;
        -- Moved behind the others that are stuck, though not by everyone who looks.
        update tenure.lease l
           set stuck_until = case when gone.stuck_until > now - interval '1 second' and wait = interval '0'
                                  then gone.stuck_until else now + wait end,
               left_count = still
         where l.token = gone.token
           and (gone.stuck_until is null or gone.stuck_until <= now - interval '1 second' or gone.left_count <> still
                or wait > interval '0');
    end loop;
    if queues is null then
        perform tenure.walk_gates(5000);
    end if;
end $$;
