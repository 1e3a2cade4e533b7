-- Returns the work of one lease that ran out (Q5, L6, L11). The caller holds the lease row.
-- Reply  how many jobs went back, and how many failed for good, with their ids; and the jobs whose tenants and lanes
--        the caller must vacate, when it has all of them (L10).
-- Guard  only jobs that still run under this very token; `only_unit` narrows it to one of them.
create or replace function tenure.recover_units(
    gone tenure.lease, now timestamptz, only_unit bigint,
    out requeued integer, out failed integer, out spent_ids bigint[],
    out ids bigint[], out queues text[], out limit_keys text[], out ordering_keys text[], out blocks boolean[]
) language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
#variable_conflict use_column
declare
    -- Its own timeout ended it, not a silence of its worker.
    timed_out boolean := coalesce(gone.ends_at = gone.expires_at, false);
begin
    with unit as (
        select u.id, u.ord <= gone.started as started, j.cancel_requested,
               case when jsonb_array_length(j.attempts) >= 100 then j.attempts -> 0 end as evicted,
               j.cancel_requested or u.ord <= gone.started and j.attempt >= j.attempts_max as spent,
               case when timed_out then 'took longer than ' || coalesce(j.timeout_ms, 0) || ' ms' end as said
          from unnest(gone.units) with ordinality as u(id, ord)
          join tenure.job j on j.id = u.id and j.running and j.token = gone.token
         where only_unit is null or u.id = only_unit
    ), spent as (
        delete from tenure.job j using unit u
         where j.id = u.id and j.running and j.token = gone.token and u.spent
        returning j.*, u.said,
                  case when u.cancel_requested then 'cancelled' when timed_out then 'timeout' else 'crash_limit' end
                      as reason
    ), kept as (
        insert into tenure.finished (
            id, token, created_at, run_at, claimed_at, finished_at, last_beat_at, longest_gap_ms, timeout_ms, beats,
            priority, attempt, attempts_max, queue, kind, payload, ordering_key, limit_key, status, reason, owner,
            outcome, verb, result, error, own_error, progress, checkpoint, backoff, attempts)
        select s.id, s.token, s.created_at, s.run_at, gone.granted_at, now, gone.last_beat_at, gone.longest_gap_ms,
               s.timeout_ms, gone.beats, s.priority, s.attempt, s.attempts_max, s.queue, s.kind, s.payload,
               s.ordering_key, s.limit_key, 'failed', s.reason, gone.owner, 'expired', null, null,
               coalesce(s.said, s.error), s.said is not null, n.progress, n.checkpoint, s.backoff, s.attempts
          from spent s left join tenure.note n on n.job = s.id
    ), back as (
        update tenure.job j
           set running = false,
               place = case when j.run_at <= now then 1 else 2 end,
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
    ), unnoted as (
        delete from tenure.note n using spent s where n.job = s.id
    ), receipts as (
        insert into tenure.receipt (job, token, at, owner, verb, status, lost)
        select b.id, r.* from back b, tenure.receipt_of(b.evicted, false) r
         where b.evicted is not null and r.at > now - interval '1 hour'
        on conflict do nothing
    ), gated as (
        select s.id, s.queue, s.limit_key, s.ordering_key, s.reason <> 'cancelled' as blocks from spent s
         where s.limit_key is not null or s.ordering_key is not null
        union all
        select b.id, b.queue, b.limit_key, b.ordering_key, false from back b
         where b.limit_key is not null or b.ordering_key is not null
    )
    select (select count(*) from back), (select count(*) from spent), (select array_agg(s.id) from spent s),
           array_agg(g.id), array_agg(g.queue), array_agg(g.limit_key), array_agg(g.ordering_key), array_agg(g.blocks)
      into requeued, failed, spent_ids, ids, queues, limit_keys, ordering_keys, blocks from gated g;
end $$;

-- Returns the work of leases that ran out, at most `leases_max` of them, oldest first (L7).
-- Parameters  `queues` narrows it to some queues; null is all.
-- Skips       what another is busy with. A unit that cannot be returned stays under its lease, which is marked stuck
--             so that it never stands in the way of the others. Trouble of the server (a deadlock, a timeout, a full
--             disk) says nothing about a unit: it ends the call, which can be repeated.
-- Locks       leases, their jobs, then all tenants and all lanes, each in their order (L10).
create or replace function tenure.recover(
    leases_max integer, queues text[],
    out leases integer, out requeued integer, out failed integer
) language plpgsql as $$
declare
    gone tenure.lease;
    one record;
    unit bigint;
    left_behind bigint[];
    spent_ids bigint[] := '{}';
    gated_ids bigint[] := '{}';
    of_queues text[] := '{}';
    limit_keys text[] := '{}';
    ordering_keys text[] := '{}';
    blocks boolean[] := '{}';
    -- Read after the lock, for each row: waiting for it may have taken long (L5).
    now timestamptz;
begin
    perform tenure.durably();
    leases := 0; requeued := 0; failed := 0;
    for gone in
        select l.* from tenure.lease l
         where not l.stuck and l.expires_at <= tenure.clock() and (queues is null or l.queue = any (queues))
         order by l.expires_at, l.token
         limit leases_max
           for update skip locked
    loop
        now := tenure.clock();
        leases := leases + 1;
        begin
            select * into one from tenure.recover_units(gone, now, null);
            requeued := requeued + one.requeued;
            failed := failed + one.failed;
            spent_ids := spent_ids || one.spent_ids;
            gated_ids := gated_ids || one.ids;
            of_queues := of_queues || one.queues;
            limit_keys := limit_keys || one.limit_keys;
            ordering_keys := ordering_keys || one.ordering_keys;
            blocks := blocks || one.blocks;
            delete from tenure.lease l where l.token = gone.token;
            delete from tenure.slack s where s.token = gone.token;
        exception
            when transaction_rollback or insufficient_resources or operator_intervention or lock_not_available
                 or system_error then
                raise;
            when others then
                raise warning 'tenure: lease % could not be returned whole: %', gone.token, sqlerrm;
                left_behind := '{}';
                foreach unit in array gone.units loop
                    begin
                        select * into one from tenure.recover_units(gone, now, unit);
                        requeued := requeued + one.requeued;
                        failed := failed + one.failed;
                        spent_ids := spent_ids || one.spent_ids;
                        gated_ids := gated_ids || one.ids;
                        of_queues := of_queues || one.queues;
                        limit_keys := limit_keys || one.limit_keys;
                        ordering_keys := ordering_keys || one.ordering_keys;
                        blocks := blocks || one.blocks;
                    exception
                        when transaction_rollback or insufficient_resources or operator_intervention
                             or lock_not_available or system_error then
                            raise;
                        when others then
                            left_behind := left_behind || unit;
                    end;
                end loop;
                if left_behind = '{}' then
                    delete from tenure.lease l where l.token = gone.token;
                else
                    update tenure.lease l set stuck = true, left_count = cardinality(left_behind)
                     where l.token = gone.token;
                end if;
        end;
    end loop;
    if gated_ids <> '{}' then
        perform tenure.vacate(gated_ids, of_queues, limit_keys, ordering_keys, blocks);
    end if;
    if spent_ids <> '{}' then
        perform tenure.forget_unkept(spent_ids, now);
    end if;
end $$;
