-- One unit: judged and ended. The callers hold its row.
--
-- One lock order for all of pipelines (L10): the run, then its units by their numbers; a stage was made before its segments
-- and has the smaller one. Holders and operators wait, in that order. Claims, recovery and the orchestrator never wait: what
-- somebody else has locked, they pass over. Heartbeats lock what they hold, and nothing else.

-- Whether a unit that becomes READY may be handed out. The caller holds the run's row, so that a pause comes before or
-- after. The stage may fail for good meanwhile: the claim and the orchestrator ask again.
create or replace function tenure.unit_open(of_run bigint, of_stage text, of_segment text) returns boolean
language sql volatile as $$
    select not exists (select from tenure.run r where r.id = of_run and r.paused)
       and (of_segment = '' or not exists (select from tenure.unit s where s.run = of_run and s.stage = of_stage
                                              and s.segment = '' and s.reason is not null))
$$;

-- Judges a write (L3, L12).
-- Parameters  `by_verb` is null for a heartbeat.
-- Reply       both null: the lease is held. `status`: the very same ending was accepted before. `lost`: refused, and
--             counted into the one event of that claim and reason (L8), as long as the stage is on record.
-- Locks       nothing but that event. Who holds the unit has locked its row before, and nobody else is let in.
create or replace function tenure.unit_judge(
    of_run bigint, of_stage text, of_segment text, by_owner text, under_token bigint, by_verb text, now timestamptz,
    out status text, out lost text
) language plpgsql as $$
#variable_conflict use_column
declare
    u tenure.unit;
    a tenure.unit_attempt;
    known boolean;
begin
    select * into u from tenure.unit x where x.run = of_run and x.stage = of_stage and x.segment = of_segment;
    known := found;
    select * into a from tenure.unit_attempt x
     where x.run = of_run and x.token = under_token and x.stage = of_stage and x.segment = of_segment
       and x.owner = by_owner;
    select v.state, v.lost into status, lost from tenure.judge_claim(
        by_verb, under_token, found, a.verb, a.status, a.outcome = 'cancelled',
        -- A segment made anew under an old name begins without a token: its past is in the attempts only.
        coalesce(u.token, (select max(x.token) from tenure.unit_attempt x
                            where x.run = of_run and x.token > under_token and x.stage = of_stage
                              and x.segment = of_segment)),
        case when u.status = 'RUNNING' and u.token = under_token and u.owner = by_owner then u.expires_at end, now) v;
    if lost is null then
        return;
    end if;
    if known or exists (select from tenure.unit x where x.run = of_run and x.stage = of_stage and x.segment = '') then
        insert into tenure.unit_event as e (run, at, stage, segment, what, token, owner, verb, lost)
        values (of_run, now, of_stage, of_segment, 'refused', under_token, by_owner, by_verb, unit_judge.lost)
        on conflict (run, stage, segment, token, lost) where what = 'refused'
        do update set first_at = coalesce(e.first_at, e.at), at = excluded.at, owner = excluded.owner,
                      verb = excluded.verb, count = e.count + 1;
    end if;
end $$;

-- Takes a running unit out of its lease, and writes down how its attempt ended. A segment that fails for good fails its
-- stage (P6), whose row the caller holds then; and the run's, where the unit becomes READY. The orchestrator is told to look.
-- Waits  for nobody: a segment that is being claimed while its stage fails is closed by whoever looks at it next.
create or replace function tenure.unit_end(
    u tenure.unit, to_status text, by_outcome text, by_verb text, with_reason text, again_at timestamptz,
    attempts integer, with_error text, now timestamptz
) returns void language plpgsql as $$
#variable_conflict use_column
declare
    stage_error text;
begin
    if by_outcome in ('expired', 'retried', 'cancelled') then
        insert into tenure.unit_event (run, at, stage, segment, what, token, owner, attempt, reason, until, error)
        values (u.run, now, u.stage, u.segment, by_outcome, u.token, u.owner, u.attempt, with_reason, again_at,
                left(with_error, 200));
    end if;
    if with_reason is not null and by_outcome <> 'cancelled' then
        insert into tenure.unit_event (run, at, stage, segment, what, token, owner, attempt, reason, until, error)
        values (u.run, now, u.stage, u.segment, 'failed', u.token, u.owner, u.attempt, with_reason, again_at,
                left(with_error, 200));
    end if;
    insert into tenure.unit_attempt (run, token, stage, segment, owner, claimed_at, ended_at, outcome, verb, status,
                                     error, beats, last_beat_at, longest_gap_ms)
    values (u.run, u.token, u.stage, u.segment, u.owner, u.granted_at, now, by_outcome, by_verb, to_status, with_error,
            u.beats, u.last_beat_at, u.longest_gap_ms);
    update tenure.unit x
       set status = to_status, reason = with_reason, retry_at = again_at, attempt = attempts,
           error = coalesce(with_error, x.error), changed_at = now,
           open = case when to_status = 'READY' then tenure.unit_open(u.run, u.stage, u.segment) else false end,
           owner = null, granted_at = null, expires_at = null, beats = 0, last_beat_at = null, longest_gap_ms = 0
     where x.id = u.id;
    if with_reason is not null and u.segment <> '' and by_outcome <> 'cancelled' then
        stage_error := 'segment ' || u.segment || ' failed for good (' || with_reason || ')';
        update tenure.unit x
           set status = 'ERROR', reason = 'segment_failed', error = stage_error, changed_at = now
         where x.run = u.run and x.stage = u.stage and x.segment = '' and x.status = 'NEW';
        if found then
            insert into tenure.unit_event (run, at, stage, segment, what, reason, error)
            values (u.run, now, u.stage, '', 'failed', 'segment_failed', left(stage_error, 200));
            update tenure.unit x set open = false
             where x.id in (select o.id from tenure.unit o
                             where o.run = u.run and o.stage = u.stage and o.segment <> '' and o.status <> 'DONE'
                               and o.status = 'READY' and o.open
                               for update skip locked);
        end if;
    end if;
    insert into tenure.run_touched (run) values (u.run);
end $$;

-- Whether every prerequisite of a stage is DONE.
create or replace function tenure.needs_done(u tenure.unit) returns boolean language sql stable as $$
    select not exists (select from unnest(u.needs) as n(name)
                        where not exists (select from tenure.unit d where d.run = u.run and d.stage = n.name
                                             and d.segment = '' and d.status = 'DONE'))
$$;

-- A unit begins anew: its attempts, its ending, its output, and what it said of its progress and errors are forgotten;
-- its token and what it recorded are not.
create or replace function tenure.unit_reset(of_unit bigint, to_status text, handed_out boolean, now timestamptz)
returns void language sql as $$
    update tenure.unit x
       set status = to_status, reason = null, retry_at = null, attempt = 0, output = null, error = null, progress = null,
           open = handed_out, changed_at = now
     where x.id = of_unit
$$;
