-- Ends claims (Q4), each answered on its own.
-- Parameters  one array element for each ending, no job twice. `delays_ms`: of a snooze its delay; of a fail null for
--             the job's backoff moved by `chances`, −2 for the same after a timeout, −1 for never, −3 for never because
--             it is not wanted, else exactly so long. `beside` is true inside a transaction of the caller's own, which
--             must not hold up the lease's heartbeat (Q10): the lease is then only shared, and learns of the ending
--             through `slack`.
-- Guard       job, owner, token and an unexpired lease (L3, L4). The clock is read before, and once more at the end: an
--             ending that waited past its deadline is not accepted, and raises TE031 to be judged anew (L5).
-- Reply       where the job stands now; `already` where the same ending was accepted before (L12); or why it is lost.
--             `wakes` names the queue where somebody may now find work.
-- Locks       jobs in the order of their ids, then leases in the order of their tokens; no gate. So whoever waits for a
--             job that a user's transaction has holds no lease up, and no heartbeat.
create or replace function tenure.end_claims(
    jobs bigint[], owners text[], tokens bigint[], verbs text[], results text[], errors text[], delays_ms bigint[],
    chances double precision[], beside boolean
) returns table (ord bigint, status text, already boolean, lost text, wakes text) language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
  set plan_cache_mode = force_generic_plan
as $$
#variable_conflict use_column
declare
    now timestamptz;
    ended_ords bigint[];
    ended_tokens bigint[];
    ended_statuses text[];
    ended_queues text[];
    ended_ids bigint[];
    back_ords bigint[] := '{}';
    back_tokens bigint[] := '{}';
    back_queues text[] := '{}';
    gated record;
    back_gated record;
    judged record;
    o bigint;
    limited boolean;
    first_end timestamptz;
begin
    -- No word is taken for another.
    if (verbs <@ array['complete', 'fail', 'snooze', 'release']) is not true then
        perform tenure.refuse('wrong_type', 'a claim is ended by complete, fail, snooze or release');
    end if;
    perform tenure.durably();
    perform tenure.only_json('result', results);
    now := tenure.clock();

    with ending as materialized (
        select e.* from unnest(jobs, owners, tokens, verbs, results, errors, delays_ms) with ordinality
                   as e(job, owner, token, verb, result, error, delay_ms, ord)
         order by e.job
    ), gone as (
        delete from tenure.job j using ending e, tenure.lease l
         where j.id = e.job and j.token = e.token and j.running
           and l.token = e.token and l.owner = e.owner and l.expires_at > now
           and (e.verb = 'complete' or j.cancel_requested
                or e.verb = 'fail' and (e.delay_ms in (-1, -3) or j.attempt >= j.attempts_max))
        returning e.ord, e.verb, e.result, e.error as said, l.owner, l.granted_at, l.last_beat_at, l.longest_gap_ms,
                  l.beats, l.expires_at,
                  case when e.verb = 'complete' then null
                       when e.verb = 'fail' and e.delay_ms = -1 then 'failed'
                       when e.verb = 'fail' and e.delay_ms = -3 then 'cancelled'
                       when e.verb = 'fail' and j.attempt >= j.attempts_max
                           then case e.delay_ms when -2 then 'timeout' else 'attempts_spent' end
                       else 'cancelled' end as reason,
                  -- Ended by its holder's own word, not by an operator's.
                  e.verb = 'fail' and (e.delay_ms in (-1, -3) or j.attempt >= j.attempts_max) as own,
                  j.*
    ), kept as (
        insert into tenure.finished (
            id, token, created_at, run_at, claimed_at, finished_at, last_beat_at, longest_gap_ms, timeout_ms, beats,
            priority, attempt, attempts_max, queue, kind, payload, ordering_key, limit_key, status, reason, owner,
            outcome, verb, result, error, own_error, progress, checkpoint, backoff, attempts)
        select g.id, g.token, g.created_at, g.run_at, g.granted_at, now, g.last_beat_at, g.longest_gap_ms,
               g.timeout_ms, g.beats, g.priority, g.attempt, g.attempts_max, g.queue, g.kind, g.payload,
               g.ordering_key, g.limit_key,
               case g.verb when 'complete' then 'completed' else 'failed' end, g.reason, g.owner,
               case when g.verb = 'complete' then 'completed' when coalesce(g.own, false) then 'failed'
                    else 'cancelled' end,
               g.verb, g.result, coalesce(g.said, g.error), g.said is not null,
               -- Only a heartbeat leaves a note, in this claim or in an earlier one.
               case when g.beats > 0 or g.place <> 0 then (select n.progress from tenure.note n where n.job = g.id) end,
               case when g.beats > 0 or g.place <> 0 then (select n.checkpoint from tenure.note n where n.job = g.id) end,
               g.backoff, g.attempts
          from gone g
    ), unnoted as (
        -- Not in the caller's own transaction: the next heartbeat may write the note, and must not wait.
        delete from tenure.note n using gone g where n.job = g.id and (g.beats > 0 or g.place <> 0) and not beside
    ), told as (
        insert into tenure.event (at, job, what, token, owner, attempt, reason, error)
        select now, g.id, case when coalesce(g.own, false) then 'failed' else 'cancelled' end, g.token, g.owner,
               g.attempt, g.reason, left(g.said, 200)
          from gone g where g.verb <> 'complete'
    )
    select min(g.expires_at) as first_end, array_agg(g.ord) as ords, array_agg(g.token) as tokens,
           array_agg(case g.verb when 'complete' then 'completed' else 'failed' end) as statuses,
           array_agg(g.queue) as of_queues, array_agg(g.id) as of_ids,
           array_agg(g.id) filter (where g.limit_key is not null or g.ordering_key is not null) as ids,
           array_agg(g.queue) filter (where g.limit_key is not null or g.ordering_key is not null) as queues,
           array_agg(g.limit_key) filter (where g.limit_key is not null or g.ordering_key is not null) as limit_keys,
           array_agg(g.ordering_key) filter (where g.limit_key is not null or g.ordering_key is not null)
               as ordering_keys,
           array_agg(g.verb = 'fail' and g.reason <> 'cancelled')
               filter (where g.limit_key is not null or g.ordering_key is not null) as blocks
      into gated from gone g;
    first_end := gated.first_end;
    ended_ords := coalesce(gated.ords, '{}');
    ended_tokens := gated.tokens;
    ended_statuses := gated.statuses;
    ended_queues := coalesce(gated.of_queues, '{}');
    ended_ids := gated.of_ids;

    if verbs && array['fail', 'snooze', 'release'] then
        with ending as materialized (
            select e.* from unnest(jobs, owners, tokens, verbs, errors, delays_ms, chances) with ordinality
                       as e(job, owner, token, verb, error, delay_ms, chance, ord)
             where e.verb <> 'complete'
             order by e.job
        ), due as (
            select e.*, l as lease,
                   case when jsonb_array_length(j.attempts) >= 100 then j.attempts -> 0 end as evicted,
                   case e.verb
                       when 'snooze' then tenure.later(now, e.delay_ms)
                       when 'release' then j.run_at
                       else tenure.later(now, coalesce(nullif(e.delay_ms, -2), tenure.backoff_ms(j.backoff, j.attempt, e.chance)))
                   end as run_at,
                   case e.verb when 'fail' then 'retried' when 'snooze' then 'snoozed' else 'released' end as outcome
              from ending e
              join tenure.job j on j.id = e.job and j.token = e.token and j.running
              join tenure.lease l on l.token = e.token and l.owner = e.owner and l.expires_at > now
        ), back as (
            update tenure.job j
               set running = false,
                   run_at = d.run_at,
                   place = case when d.run_at > now then 2
                                when j.limit_key is not null or j.ordering_key is not null then 3 else 1 end,
                   attempt = case d.verb when 'fail' then j.attempt else j.attempt - 1 end,
                   error = coalesce(d.error, j.error),
                   attempts = tenure.with_attempt(j.attempts, d.lease, now, d.outcome, d.verb, d.error)
              from due d
             -- Asked to be cancelled while this waited for it, it is ended by the next look (L11).
             where j.id = d.job and j.token = d.token and j.running and not j.cancel_requested
            returning d.ord, d.verb, d.owner, d.error, d.evicted, (d.lease).expires_at, j.id, j.token, j.queue, j.attempt, j.run_at,
                      j.limit_key, j.ordering_key
        ), told as (
            insert into tenure.event (at, job, what, token, owner, attempt, until, error)
            select now, b.id, 'retried', b.token, b.owner, b.attempt, b.run_at, left(b.error, 200)
              from back b where b.verb = 'fail'
        ), receipts as (
            insert into tenure.receipt (job, token, at, owner, verb, status, cancelled)
            select b.id, r.* from back b, tenure.receipt_of(b.evicted) r
             where b.evicted is not null and r.at > now - interval '1 hour'
            on conflict do nothing
        )
        select min(b.expires_at) as first_end,
               coalesce(array_agg(b.ord), '{}') as ords, coalesce(array_agg(b.token), '{}') as tokens,
               coalesce(array_agg(b.queue), '{}') as of_queues,
               array_agg(b.id) filter (where b.limit_key is not null or b.ordering_key is not null) as ids,
               array_agg(b.queue) filter (where b.limit_key is not null or b.ordering_key is not null) as queues,
               array_agg(b.limit_key) filter (where b.limit_key is not null or b.ordering_key is not null) as limit_keys,
               array_agg(b.ordering_key) filter (where b.limit_key is not null or b.ordering_key is not null)
                   as ordering_keys,
               array_agg(false) filter (where b.limit_key is not null or b.ordering_key is not null) as blocks
          into back_gated from back b;
        first_end := least(first_end, back_gated.first_end);
        back_ords := back_gated.ords;
        back_tokens := back_gated.tokens;
        back_queues := back_gated.of_queues;
        if gated.ids is not null or back_gated.ids is not null then
            perform tenure.touch_ended(gated.ids || back_gated.ids, gated.queues || back_gated.queues,
                                       gated.limit_keys || back_gated.limit_keys,
                                       gated.ordering_keys || back_gated.ordering_keys, gated.blocks || back_gated.blocks);
        end if;
    elsif gated.ids is not null then
        perform tenure.touch_ended(gated.ids, gated.queues, gated.limit_keys, gated.ordering_keys, gated.blocks);
    end if;

    if beside then
        perform from tenure.lease l where l.token = any (ended_tokens || back_tokens) order by l.token for key share;
        insert into tenure.slack (token, job, queue)
        select u.token, jobs[u.ord], u.queue
          from unnest(ended_tokens || back_tokens, ended_ords || back_ords, ended_queues || back_queues) as u(token, ord, queue);
    else
        perform from tenure.lease l where l.token = any (ended_tokens || back_tokens) order by l.token for no key update;
        delete from tenure.lease l
         using (select u.token, count(*) as n from unnest(ended_tokens || back_tokens) as u(token) group by u.token) d
         where l.token = d.token
           and l.left_count <= d.n + (select count(*) from tenure.slack s where s.token = l.token);
        delete from tenure.slack s
         where s.token = any (ended_tokens || back_tokens)
           and not exists (select from tenure.lease l where l.token = s.token);
        update tenure.lease l set left_count = l.left_count - d.n
          from (select u.token, count(*) as n from unnest(ended_tokens || back_tokens) as u(token) group by u.token) d
         where l.token = d.token;
    end if;
    if ended_ids is not null then
        perform tenure.forget_unkept(ended_ids, ended_queues, now);
    end if;

    if first_end <= tenure.clock() then
        if beside then
            perform tenure.lease_lost('expired');
        end if;
        raise exception 'tenure: a lease ran out while its ending waited' using errcode = 'TE031';
    end if;

    -- Who waits for a slot or a turn wants to know of every ending; without limits only of what waits again.
    limited := (select e.max_running is not null from tenure.engine e);
    return query
        select e.ord, e.status, false, null::text,
               case when limited then '*'
                    when gated.ids is not null
                         or (select q.max_running is not null from tenure.queue q where q.name = e.queue) then e.queue end
          from unnest(ended_ords, ended_statuses, ended_queues) as e(ord, status, queue);
    return query select b.ord, 'queued'::text, false, null::text, case when limited then '*' else b.queue end
                   from unnest(back_ords, back_queues) as b(ord, queue);

    -- What was not accepted is judged one by one, in a new statement that sees what was committed meanwhile; by job, for
    -- each refusal locks that job's event.
    if cardinality(ended_ords) + cardinality(back_ords) < cardinality(jobs) then
        for o in select i.ord from unnest(jobs) with ordinality as i(job, ord) order by i.job loop
            if o = any (ended_ords) or o = any (back_ords) then
                continue;
            end if;
            if exists (select from tenure.job j join tenure.lease l on l.token = j.token
                        where j.id = jobs[o] and j.token = tokens[o] and j.running and l.owner = owners[o]
                          and l.expires_at > now) then
                -- It was held all the while, and changed between the two looks: to be judged anew.
                raise exception 'tenure: the job changed while its ending waited' using errcode = 'TE031';
            end if;
            select * into judged from tenure.judge(jobs[o], owners[o], tokens[o], verbs[o], now);
            ord := o; status := judged.status; already := judged.status is not null; lost := judged.lost;
            wakes := null;
            return next;
        end loop;
    end if;
end $$;

-- Ends claims in a transaction of their own. Waits for hardly anything: what another transaction holds for longer raises,
-- nothing is ended, and the caller asks for each by itself, patiently.
create or replace function tenure.finish(
    jobs bigint[], owners text[], tokens bigint[], verbs text[], results text[], errors text[], delays_ms bigint[],
    chances double precision[]
) returns table (ord bigint, status text, already boolean, lost text, wakes text) language plpgsql
  security definer set search_path = pg_catalog, pg_temp
  set lock_timeout = '100ms'
as $$
begin
    return query select * from tenure.end_claims(jobs, owners, tokens, verbs, results, errors, delays_ms, chances, false);
end $$;
create or replace function tenure.finish_patiently(
    jobs bigint[], owners text[], tokens bigint[], verbs text[], results text[], errors text[], delays_ms bigint[],
    chances double precision[]
) returns table (ord bigint, status text, already boolean, lost text, wakes text) language plpgsql
  security definer set search_path = pg_catalog, pg_temp
  set lock_timeout = '3s'
as $$
begin
    perform from tenure.job j where j.id = any (jobs) order by j.id for update;
    return query select * from tenure.end_claims(jobs, owners, tokens, verbs, results, errors, delays_ms, chances, false);
end $$;
