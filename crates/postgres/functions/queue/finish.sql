-- Ends claims (Q4), each answered on its own.
-- Parameters  one array element for each ending, no job twice. `delays_ms`: of a snooze its delay; of a fail null for
--             the job's backoff moved by `chances`, −1 for never, else exactly so long.
-- Guard       job, owner, token and an unexpired lease, judged after the lease rows are locked (L3, L4, L5).
-- Reply       where the job stands now; `already` where the same ending was accepted before (L12); or why it is lost.
--             `put_back` names the queue of a job that waits again.
create or replace function tenure.finish(
    jobs bigint[], owners text[], tokens bigint[], verbs text[], results text[], errors text[], delays_ms bigint[],
    chances double precision[]
) returns table (ord bigint, status text, already boolean, lost text, put_back text) language plpgsql
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
#variable_conflict use_column
declare
    now timestamptz;
    ended_ords bigint[];
    ended_tokens bigint[];
    ended_statuses text[];
    back_ords bigint[] := '{}';
    back_tokens bigint[] := '{}';
    back_queues text[] := '{}';
    judged record;
begin
    perform tenure.durably();
    perform from tenure.lease l where l.token = any (tokens) order by l.token for no key update;
    now := tenure.clock();

    with ending as (
        select e.* from unnest(jobs, owners, tokens, verbs, results, errors, delays_ms) with ordinality
                   as e(job, owner, token, verb, result, error, delay_ms, ord)
    ), gone as (
        delete from tenure.job j using ending e, tenure.lease l
         where j.id = e.job and j.token = e.token and j.running
           and l.token = e.token and l.owner = e.owner and l.expires_at > now
           and (e.verb = 'complete' or e.verb = 'fail' and (e.delay_ms is not distinct from -1 or j.attempt >= j.attempts_max))
        returning e.ord, e.verb, e.result, e.delay_ms, e.error as said, l.owner, l.granted_at, l.last_beat_at,
                  l.longest_gap_ms, l.beats, j.*
    ), kept as (
        insert into tenure.finished (
            id, token, created_at, run_at, claimed_at, finished_at, last_beat_at, longest_gap_ms, timeout_ms, beats,
            priority, attempt, attempts_max, queue, kind, payload, status, reason, owner, outcome, verb, result,
            error, progress, checkpoint, backoff, attempts)
        select g.id, g.token, g.created_at, g.run_at, g.granted_at, now, g.last_beat_at, g.longest_gap_ms,
               g.timeout_ms, g.beats, g.priority, g.attempt, g.attempts_max, g.queue, g.kind, g.payload,
               case g.verb when 'complete' then 'completed' else 'failed' end,
               case when g.verb = 'fail' then case g.delay_ms when -1 then 'failed' else 'attempts_spent' end end,
               g.owner, case g.verb when 'complete' then 'completed' else 'failed' end, g.verb, g.result,
               coalesce(g.said, g.error), n.progress, n.checkpoint, g.backoff, g.attempts
          from gone g left join tenure.note n on n.job = g.id
        returning id
    ), unnoted as (
        delete from tenure.note n using gone g where n.job = g.id
    ), told as (
        insert into tenure.event (at, job, what, token, owner, attempt, reason, error)
        select now, g.id, 'failed', g.token, g.owner, g.attempt,
               case g.delay_ms when -1 then 'failed' else 'attempts_spent' end, left(g.said, 200)
          from gone g where g.verb = 'fail'
    )
    select array_agg(g.ord), array_agg(g.token),
           array_agg(case g.verb when 'complete' then 'completed' else 'failed' end)
      into ended_ords, ended_tokens, ended_statuses from gone g;

    if verbs && array['fail', 'snooze', 'release'] then
        with ending as (
            select e.* from unnest(jobs, owners, tokens, verbs, errors, delays_ms, chances) with ordinality
                       as e(job, owner, token, verb, error, delay_ms, chance, ord)
             where e.verb <> 'complete'
        ), due as (
            select e.*, l as lease,
                   case e.verb
                       when 'snooze' then tenure.later(now, e.delay_ms)
                       when 'release' then j.run_at
                       else tenure.later(now, coalesce(e.delay_ms, tenure.backoff_ms(j.backoff, j.attempt, e.chance)))
                   end as run_at,
                   case e.verb when 'fail' then 'retried' when 'snooze' then 'snoozed' else 'released' end as outcome
              from ending e
              join tenure.job j on j.id = e.job and j.token = e.token and j.running
              join tenure.lease l on l.token = e.token and l.owner = e.owner and l.expires_at > now
             where not (e.verb = 'fail' and (e.delay_ms is not distinct from -1 or j.attempt >= j.attempts_max))
        ), back as (
            update tenure.job j
               set running = false,
                   run_at = d.run_at,
                   place = case when d.run_at <= now then 1 else 2 end,
                   attempt = case d.verb when 'fail' then j.attempt else j.attempt - 1 end,
                   error = coalesce(d.error, j.error),
                   attempts = tenure.with_attempt(j.attempts, d.lease, now, d.outcome, d.verb, d.error)
              from due d
             where j.id = d.job and j.token = d.token and j.running
            returning d.ord, d.verb, d.owner, d.error, j.id, j.token, j.queue, j.attempt, j.run_at
        ), told as (
            insert into tenure.event (at, job, what, token, owner, attempt, until, error)
            select now, b.id, 'retried', b.token, b.owner, b.attempt, b.run_at, left(b.error, 200)
              from back b where b.verb = 'fail'
        )
        select coalesce(array_agg(b.ord), '{}'), coalesce(array_agg(b.token), '{}'), coalesce(array_agg(b.queue), '{}')
          into back_ords, back_tokens, back_queues from back b;
    end if;

    delete from tenure.lease l
     using (select u.token, count(*) as n from unnest(ended_tokens || back_tokens) as u(token) group by u.token) d
     where l.token = d.token and l.left_count <= d.n;
    update tenure.lease l set left_count = l.left_count - d.n
      from (select u.token, count(*) as n from unnest(ended_tokens || back_tokens) as u(token) group by u.token) d
     where l.token = d.token;

    return query select e.ord, e.status, false, null::text, null::text
                   from unnest(ended_ords, ended_statuses) as e(ord, status);
    return query select b.ord, 'queued'::text, false, null::text, b.queue
                   from unnest(back_ords, back_queues) as b(ord, queue);

    -- What was not accepted is judged one by one, in a new statement that sees what was committed meanwhile.
    if coalesce(cardinality(ended_ords), 0) + cardinality(back_ords) < cardinality(jobs) then
        for o in 1 .. cardinality(jobs) loop
            if o = any (ended_ords) or o = any (back_ords) then
                continue;
            end if;
            select * into judged from tenure.judge(jobs[o], owners[o], tokens[o], verbs[o], now);
            ord := o; status := judged.status; already := judged.status is not null; lost := judged.lost;
            put_back := null;
            return next;
        end loop;
    end if;
end $$;
