-- Carries out operator actions, one array element each, each answered on its own, in the order of the arrays.
-- Reply  `busy` for a job that another transaction holds, perhaps a user's that stays open: nothing waits for it here, and
--        the caller asks for each such job by itself, patiently.
-- Locks  jobs, finished or not, in the order of their ids, then leases in the order of their tokens (L10); no gate.
create or replace function tenure.operate_all(
    jobs bigint[], actions text[], reasons text[], by_actor text default null
) returns table (status text, refusal text) language plpgsql set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off set lock_timeout = '2s'
as $$
begin
    perform tenure.durably();
    perform from tenure.job j where j.id = any (jobs) order by j.id for no key update skip locked;
    perform from tenure.finished f where f.id = any (jobs) order by f.id for update skip locked;
    return query select o.* from tenure.operate_held(jobs, actions, reasons, tenure.actor(by_actor)) o;
end $$;

-- Carries out one operator action, waiting for whoever has the job, and holding nothing else meanwhile.
create or replace function tenure.operate_patiently(
    of_job bigint, action text, said text, by_actor text default null
) returns table (status text, refusal text) language plpgsql set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off set lock_timeout = '3s'
as $$
begin
    perform tenure.durably();
    -- While we waited, it may have ended or been put back: then it is in the other table.
    for try in 1 .. 100 loop
        perform from tenure.job j where j.id = of_job for update;
        exit when found;
        perform from tenure.finished f where f.id = of_job for update;
        exit when found or not exists (select from tenure.job j where j.id = of_job);
    end loop;
    return query select o.* from tenure.operate_held(array[of_job], array[action], array[said],
                                                          tenure.actor(by_actor)) o;
end $$;

-- The same on jobs of which the caller has locked those that it could.
create or replace function tenure.operate_held(jobs bigint[], actions text[], reasons text[], by_actor text)
returns table (status text, refusal text) language plpgsql as $$
begin
    perform from tenure.lease l
      where l.token = any (array(select j.token from tenure.job j where j.id = any (jobs) and j.running))
      order by l.token for no key update;
    return query
        select o.status, o.refusal
          from unnest(jobs, actions, reasons) with ordinality as a(job, action, reason, ord),
               tenure.operate(a.job, a.action, a.reason, by_actor) o
         order by a.ord;
end $$;

-- Carries out one operator action on one job (L9, L11). Waits for nobody.
-- Parameters  `action`: `cancel`, `force` (cancel now) or `retry`.
-- Reply       where the job stands, or why it was refused; `busy` where another transaction has it.
create or replace function tenure.operate(
    of_job bigint, action text, said text, by_actor text, out status text, out refusal text
) language plpgsql as $$
declare
    now timestamptz;
    under bigint;
    one tenure.job;
    held tenure.lease;
begin
    select j.* into one from tenure.job j where j.id = of_job for no key update skip locked;
    if one.id is null then
        perform from tenure.finished f where f.id = of_job for update skip locked;
        if found and action = 'retry' then
            select r.status into status from tenure.retry(of_job, by_actor) r;
        else
            refusal := case when found then 'terminal'
                            when exists (select from tenure.job j where j.id = of_job)
                                 or exists (select from tenure.finished f where f.id = of_job) then 'busy'
                            else 'not_found' end;
        end if;
        return;
    end if;
    if action = 'retry' then
        refusal := 'not_terminal';
        return;
    end if;
    under := case when one.running then one.token end;
    select l.* into held from tenure.lease l where l.token = under;
    now := tenure.clock();
    if one.running and action = 'cancel' then
        update tenure.job j set cancel_requested = true where j.id = of_job;
        update tenure.lease l set cancelling = array_append(array_remove(l.cancelling, of_job), of_job)
         where l.token = under;
        insert into tenure.event (at, job, what, token, owner, by, error)
        values (now, of_job, 'cancel_requested', under, held.owner, by_actor, left(said, 200));
        status := 'running';
        return;
    end if;

    -- A user's transaction that keeps it with `held` lets it be asked to end, not be ended.
    perform from tenure.job j where j.id = of_job for update skip locked;
    if not found then
        refusal := 'busy';
        return;
    end if;
    delete from tenure.job j where j.id = of_job;
    perform tenure.to_history(one, held, now, 'cancelled', case when one.running then 'cancelled' end,
                              case when one.running then said end);
    insert into tenure.event (at, job, what, token, owner, by, attempt, reason, error)
    values (now, of_job, 'cancelled', case when one.running then under end, case when one.running then held.owner end,
            by_actor, case when one.running then one.attempt end, 'cancelled', left(said, 200));
    if one.running then
        delete from tenure.lease l where l.token = under and l.left_count <= 1;
        update tenure.lease l set left_count = l.left_count - 1 where l.token = under;
        perform tenure.touch_ended(array[one.id], array[one.queue], array[one.limit_key], array[one.ordering_key],
                                   array[false]);
    else
        perform tenure.touch_waiting(array[one.queue], array[one.limit_key], array[one.ordering_key], array[one.priority]);
    end if;
    perform tenure.forget_unkept(array[of_job], array[one.queue], now);
    status := 'failed';
end $$;

-- Puts a finished job back, which the caller holds, with its attempts anew and its token kept (L9, L2).
create or replace function tenure.retry(of_job bigint, by_actor text, out status text) language plpgsql as $$
declare
    now timestamptz;
    done tenure.finished;
    history jsonb;
begin
    delete from tenure.finished f where f.id = of_job returning f.* into done;
    now := tenure.clock();
    history := tenure.all_attempts(done);
    -- The oldest gives way, as wherever an attempt is added.
    if jsonb_array_length(history) > 100 then
        insert into tenure.receipt (job, token, at, owner, verb, status, cancelled)
        select of_job, r.* from tenure.receipt_of(history -> 0) r where r.at > now - interval '1 hour'
        on conflict do nothing;
        history := history - 0;
    end if;
    if done.progress is not null or done.checkpoint is not null then
        insert into tenure.note (job, progress, checkpoint) values (of_job, done.progress, done.checkpoint)
            on conflict (job) do update set progress = excluded.progress, checkpoint = excluded.checkpoint;
    end if;
    -- In a lane it waits its turn again, by its id; if the lane stopped for it, the lane goes on with it.
    insert into tenure.job (id, token, created_at, run_at, timeout_ms, priority, attempt, attempts_max, place, queue,
                            kind, payload, ordering_key, limit_key, backoff, error, attempts)
    values (of_job, done.token, done.created_at, now, done.timeout_ms, done.priority, 0, done.attempts_max,
            case when done.limit_key is null and done.ordering_key is null then 1 else 3 end, done.queue, done.kind, done.payload,
            done.ordering_key, done.limit_key, done.backoff, done.error, history);
    if done.limit_key is not null then
        insert into tenure.touch (queue, lane, key) values (done.queue, false, done.limit_key);
    end if;
    if done.ordering_key is not null then
        insert into tenure.touch (queue, lane, key, retried) values (done.queue, true, done.ordering_key, of_job);
    end if;
    insert into tenure.event (at, job, what, by) values (now, of_job, 'retried_by_operator', by_actor);
    status := 'queued';
end $$;
