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
