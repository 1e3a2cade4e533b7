-- One ended attempt, as core reads it.
create or replace function tenure.attempt(
    held tenure.lease, ended_at timestamptz, outcome text, verb text, error text
) returns jsonb language sql immutable parallel safe
return jsonb_build_object(
    'token', held.token, 'owner', held.owner, 'claimed_at', tenure.micros(held.granted_at),
    'ended_at', tenure.micros(ended_at), 'outcome', outcome, 'verb', verb, 'error', error,
    'beats', held.beats, 'last_beat_at', tenure.micros(held.last_beat_at), 'longest_gap_ms', held.longest_gap_ms);

-- Ended attempts with one more; the oldest gives way beyond a hundred, for snoozing could go on for ever.
create or replace function tenure.with_attempt(
    earlier jsonb, held tenure.lease, ended_at timestamptz, outcome text, verb text, error text
) returns jsonb language sql immutable parallel safe
return case
    when earlier is null then '[]'::jsonb
    when jsonb_array_length(earlier) >= 100 then earlier - 0
    else earlier
end || tenure.attempt(held, ended_at, outcome, verb, error);

-- The ended attempts of a finished job, the last claim included; a job can be cancelled before it was claimed.
create or replace function tenure.all_attempts(f tenure.finished) returns jsonb language sql immutable parallel safe
return case when f.owner is null then f.attempts
            else coalesce(f.attempts, '[]') || jsonb_build_object(
                'token', f.token, 'owner', f.owner, 'claimed_at', tenure.micros(f.claimed_at),
                'ended_at', tenure.micros(f.finished_at), 'outcome', f.outcome, 'verb', f.verb,
                'error', case when f.own_error then f.error end, 'beats', f.beats,
                'last_beat_at', tenure.micros(f.last_beat_at), 'longest_gap_ms', f.longest_gap_ms) end;

-- Moves a job that failed without its holder's word to history; the caller has taken it out of `job`.
-- Parameters  `held`: the lease it ran under, empty if it waited; `outcome` of that claim; `said` of it, if anything.
-- Reply       its id.
create or replace function tenure.to_history(
    j tenure.job, held tenure.lease, now timestamptz, reason text, outcome text, said text
) returns bigint language plpgsql as $$
declare
    noted tenure.note;
begin
    delete from tenure.note n where n.job = j.id returning n.* into noted;
    insert into tenure.finished (
        id, token, created_at, run_at, claimed_at, finished_at, last_beat_at, longest_gap_ms, timeout_ms, beats,
        priority, attempt, attempts_max, queue, kind, payload, ordering_key, limit_key, status, reason, owner, outcome,
        error, own_error, progress, checkpoint, backoff, attempts)
    values (j.id, j.token, j.created_at, j.run_at, held.granted_at, now, held.last_beat_at,
            coalesce(held.longest_gap_ms, 0), j.timeout_ms, coalesce(held.beats, 0), j.priority, j.attempt,
            j.attempts_max, j.queue, j.kind, j.payload, j.ordering_key, j.limit_key, 'failed', reason, held.owner,
            outcome, coalesce(said, j.error), said is not null, noted.progress, noted.checkpoint, j.backoff, j.attempts);
    return j.id;
end $$;
