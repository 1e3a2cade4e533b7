-- Returns the work of one lease that ran out (Q5, L6). The caller holds the lease row.
-- Reply  how many jobs went back, and how many failed at the crash limit.
-- Guard  only jobs that still run under this very token; `only_unit` narrows it to one of them.
create or replace function tenure.recover_units(
    gone tenure.lease, now timestamptz, only_unit bigint,
    out requeued integer, out failed integer
) language plpgsql set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off as $$
begin
    with unit as (
        select u.id, u.ord <= gone.started as started
          from unnest(gone.units) with ordinality as u(id, ord)
         where only_unit is null or u.id = only_unit
    ), spent as (
        delete from tenure.job j using unit u
         where j.id = u.id and j.running and j.token = gone.token and u.started and j.attempt >= j.attempts_max
        returning j.*
    ), kept as (
        insert into tenure.finished (
            id, token, created_at, run_at, claimed_at, finished_at, last_beat_at, longest_gap_ms, timeout_ms, beats,
            priority, attempt, attempts_max, queue, kind, payload, status, reason, owner, outcome, verb, result,
            error, progress, checkpoint, backoff, attempts)
        select s.id, s.token, s.created_at, s.run_at, gone.granted_at, now, gone.last_beat_at, gone.longest_gap_ms,
               s.timeout_ms, gone.beats, s.priority, s.attempt, s.attempts_max, s.queue, s.kind, s.payload, 'failed',
               'crash_limit', gone.owner, 'expired', null, null, s.error, n.progress, n.checkpoint, s.backoff,
               s.attempts
          from spent s left join tenure.note n on n.job = s.id
    ), back as (
        update tenure.job j
           set running = false,
               place = case when j.run_at <= now then 1 else 2 end,
               attempt = case when u.started then j.attempt else j.attempt - 1 end,
               attempts = tenure.with_attempt(j.attempts, gone, now, 'expired', null, null)
          from unit u
         where j.id = u.id and j.running and j.token = gone.token and not (u.started and j.attempt >= j.attempts_max)
        returning j.id, case when u.started then j.attempt end as attempt
    ), told as (
        insert into tenure.event (at, job, what, token, owner, attempt, reason)
        select now, e.id, e.what, gone.token, gone.owner, e.attempt, e.reason
          from (select s.id, 'expired' as what, s.attempt, null as reason, 0 as rank from spent s
                union all
                select s.id, 'failed', s.attempt, 'crash_limit', 1 from spent s
                union all
                select b.id, 'expired', b.attempt, null, 0 from back b) e
         order by e.id, e.rank
    ), unnoted as (
        delete from tenure.note n using spent s where n.job = s.id
    )
    select (select count(*) from back), (select count(*) from spent) into requeued, failed;
end $$;

-- Returns the work of leases that ran out, at most `leases_max` of them, oldest first (L7).
-- Parameters  `queues` narrows it to some queues; null is all.
-- Skips       what another is busy with. A unit that cannot be returned stays under its lease, which is marked stuck
--             so that it never stands in the way of the others.
create or replace function tenure.recover(
    leases_max integer, queues text[],
    out leases integer, out requeued integer, out failed integer
) language plpgsql as $$
declare
    gone tenure.lease;
    one record;
    unit bigint;
    left_behind bigint[];
    -- Read after the lock, for each row: waiting for it may have taken long (L5).
    now timestamptz;
begin
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
            delete from tenure.lease l where l.token = gone.token;
        exception when others then
            raise warning 'tenure: lease % could not be returned whole: %', gone.token, sqlerrm;
            left_behind := '{}';
            foreach unit in array gone.units loop
                begin
                    select * into one from tenure.recover_units(gone, now, unit);
                    requeued := requeued + one.requeued;
                    failed := failed + one.failed;
                exception when others then
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
end $$;
