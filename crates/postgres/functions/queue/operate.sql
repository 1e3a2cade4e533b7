-- Carries out operator actions, one array element each, each answered on its own.
-- Locks  everything the jobs have, first and in one order (L10): two bulk actions, or one and a finish, never wait for
--        each other in a ring.
create or replace function tenure.operate_all(jobs bigint[], actions text[], reasons text[])
returns table (status text, refusal text) language plpgsql as $$
begin
    perform tenure.durably();
    perform tenure.hold_all(jobs);
    perform tenure.hold_lane(r.queue, r.ordering_key)
       from (select distinct f.queue, f.ordering_key
               from unnest(jobs, actions) as a(job, action) join tenure.finished f on f.id = a.job
              where a.action = 'retry' and f.ordering_key is not null
              order by 1, 2) r;
    return query
        select o.status, o.refusal
          from unnest(jobs, actions, reasons) with ordinality as a(job, action, reason, ord),
               tenure.operate(a.job, a.action, a.reason) o
         order by a.ord;
end $$;

-- Locks jobs, finished or not, with their leases, tenants and lanes. A job that was claimed while we waited for the
-- leases has one that we do not hold and may no longer wait for: then all is let go, and taken again.
create or replace function tenure.hold_all(jobs bigint[]) returns void language plpgsql as $$
declare
    under bigint[];
    steady boolean := false;
begin
    for try in 1 .. 100 loop
        begin
            under := array(select j.token from tenure.job j where j.id = any (jobs) and j.running);
            perform from tenure.lease l where l.token = any (under) order by l.token for no key update;
            perform from tenure.job j where j.id = any (jobs) order by j.id for update;
            if exists (select from tenure.job j where j.id = any (jobs) and j.running and j.token <> all (under)) then
                raise exception 'tenure: claimed meanwhile' using errcode = 'TE030';
            end if;
            steady := true;
            exit;
        exception when sqlstate 'TE030' then
            -- The end of this block has given the locks back.
        end;
    end loop;
    if not steady then
        raise exception 'tenure: the jobs are claimed again and again' using errcode = 'serialization_failure';
    end if;
    perform from tenure.finished f where f.id = any (jobs) order by f.id for update;
    perform from tenure.tenant t
      where (t.queue, t.key) in (select j.queue, j.limit_key from tenure.job j where j.id = any (jobs))
      order by t.queue, t.key for update;
    perform from tenure.lane l
      where (l.queue, l.key) in (select j.queue, j.ordering_key from tenure.job j where j.id = any (jobs))
      order by l.queue, l.key for update;
end $$;

-- Carries out one operator action on one job (L9, L11), which the caller holds with all it has.
-- Parameters  `action`: `cancel`, `force` (cancel now) or `retry`.
-- Reply       where the job stands, or why it was refused.
create or replace function tenure.operate(
    of_job bigint, action text, said text, out status text, out refusal text
) language plpgsql as $$
declare
    now timestamptz;
    under bigint;
    one tenure.job;
    held tenure.lease;
begin
    if action = 'retry' then
        select r.status, r.refusal into status, refusal from tenure.retry(of_job) r;
        return;
    end if;
    select j.* into one from tenure.job j where j.id = of_job;
    under := case when one.running then one.token end;
    select l.* into held from tenure.lease l where l.token = under;
    now := tenure.clock();
    if one.id is null then
        refusal := case when exists (select from tenure.finished f where f.id = of_job) then 'terminal'
                        else 'not_found' end;
        return;
    end if;
    if one.running and action = 'cancel' then
        update tenure.job j set cancel_requested = true where j.id = of_job;
        update tenure.lease l set cancelling = array_append(array_remove(l.cancelling, of_job), of_job)
         where l.token = under;
        insert into tenure.event (at, job, what, token, owner, error)
        values (now, of_job, 'cancel_requested', under, held.owner, left(said, 200));
        status := 'running';
        return;
    end if;

    delete from tenure.job j where j.id = of_job;
    insert into tenure.finished (
        id, token, created_at, run_at, claimed_at, finished_at, last_beat_at, longest_gap_ms, timeout_ms, beats,
        priority, attempt, attempts_max, queue, kind, payload, ordering_key, limit_key, status, reason, owner, outcome,
        error, own_error, progress, checkpoint, backoff, attempts)
    select one.id, one.token, one.created_at, one.run_at, case when one.running then held.granted_at end, now,
           case when one.running then held.last_beat_at end,
           case when one.running then held.longest_gap_ms else 0 end, one.timeout_ms,
           case when one.running then held.beats else 0 end, one.priority, one.attempt, one.attempts_max, one.queue,
           one.kind, one.payload, one.ordering_key, one.limit_key, 'failed', 'cancelled',
           case when one.running then held.owner end, case when one.running then 'cancelled' end,
           coalesce(case when one.running then said end, one.error), one.running and said is not null,
           (select n.progress from tenure.note n where n.job = of_job),
           (select n.checkpoint from tenure.note n where n.job = of_job), one.backoff, one.attempts;
    delete from tenure.note n where n.job = of_job;
    insert into tenure.event (at, job, what, token, owner, attempt, reason, error)
    values (now, of_job, 'cancelled', case when one.running then under end, case when one.running then held.owner end,
            case when one.running then one.attempt end, 'cancelled', left(said, 200));
    if one.running then
        delete from tenure.lease l where l.token = under and l.left_count <= 1;
        update tenure.lease l set left_count = l.left_count - 1 where l.token = under;
        perform tenure.vacate(array[one.id], array[one.queue], array[one.limit_key], array[one.ordering_key],
                              array[false]);
    else
        if one.ordering_key is not null then
            perform tenure.vacate(array[one.id], array[one.queue], array[null::text], array[one.ordering_key],
                                  array[false]);
        end if;
        -- It may have stood for its tenant.
        if one.limit_key is not null then
            perform tenure.open_tenant(one.queue, one.limit_key);
        end if;
    end if;
    perform tenure.forget_unkept(array[of_job], now);
    status := 'failed';
end $$;

-- Puts a finished job back, with its attempts anew and its token kept (L9, L2).
create or replace function tenure.retry(of_job bigint, out status text, out refusal text) language plpgsql as $$
declare
    now timestamptz;
    done tenure.finished;
    last tenure.lease;
    history jsonb;
    evicted jsonb;
begin
    delete from tenure.finished f where f.id = of_job returning f.* into done;
    if not found then
        refusal := case when exists (select from tenure.job j where j.id = of_job) then 'not_terminal'
                        else 'not_found' end;
        return;
    end if;
    now := tenure.clock();
    history := done.attempts;
    if done.owner is not null then
        evicted := case when jsonb_array_length(history) >= 100 then history -> 0 end;
        last.token := done.token; last.owner := done.owner; last.granted_at := done.claimed_at;
        last.beats := done.beats; last.last_beat_at := done.last_beat_at; last.longest_gap_ms := done.longest_gap_ms;
        history := tenure.with_attempt(history, last, done.finished_at, done.outcome, done.verb,
                                       case when done.own_error then done.error end);
        insert into tenure.receipt (job, token, at, owner, verb, status, lost)
        select of_job, r.* from tenure.receipt_of(evicted, false) r
         where evicted is not null and r.at > now - interval '1 hour'
        on conflict do nothing;
    end if;
    if done.progress is not null or done.checkpoint is not null then
        insert into tenure.note (job, progress, checkpoint) values (of_job, done.progress, done.checkpoint)
            on conflict (job) do update set progress = excluded.progress, checkpoint = excluded.checkpoint;
    end if;
    -- In a lane it waits its turn again, by its id; if the lane stopped for it, the lane goes on with it.
    insert into tenure.job (id, token, created_at, run_at, timeout_ms, priority, attempt, attempts_max, place, queue,
                            kind, payload, ordering_key, limit_key, backoff, error, attempts)
    values (of_job, done.token, done.created_at, now, done.timeout_ms, done.priority, 0, done.attempts_max,
            case when done.ordering_key is null then 1 else 3 end, done.queue, done.kind, done.payload,
            done.ordering_key, done.limit_key, done.backoff, done.error, history);
    if done.ordering_key is not null then
        perform tenure.hold_lane(done.queue, done.ordering_key);
        update tenure.lane l set blocked_by = null
         where l.queue = done.queue and l.key = done.ordering_key and l.blocked_by = of_job;
        perform tenure.open_lane(done.queue, done.ordering_key);
    end if;
    insert into tenure.event (at, job, what) values (now, of_job, 'retried_by_operator');
    status := 'queued';
end $$;
