-- What the stress watches: every change of a job, a lease or a history row, told in the transaction that makes it.
--
-- A message of the log is decoded only if its transaction commits, and in the order of commits: the judge sees exactly
-- the states that were ever committed, one after the other, and no table of ours stands in the way of anybody.
create schema stress;

create function stress.micros(at timestamptz) returns bigint language sql immutable as
    'select (extract(epoch from at) * 1000000)::bigint';

create function stress.tell(what text, op text, about jsonb) returns void language sql as $$
    select pg_logical_emit_message(true, 'stress', (about || jsonb_build_object(
        'what', what, 'op', op, 'at', stress.micros(clock_timestamp()), 'began', stress.micros(now())))::text)
$$;

create function stress.tell_job() returns trigger language plpgsql as $$
declare
    j tenure.job := case when tg_op = 'DELETE' then old else new end;
begin
    perform stress.tell('job', tg_op, jsonb_build_object(
        'id', j.id, 'queue', j.queue, 'payload', j.payload::jsonb, 'running', j.running, 'token', j.token,
        'attempt', j.attempt, 'attempts_max', j.attempts_max,
        'last', case when tg_op = 'UPDATE' and old.running and not j.running then to_jsonb(j) -> 'attempts' -> -1 end));
    return null;
end $$;
create trigger stress_told after insert or delete on tenure.job for each row execute function stress.tell_job();
create trigger stress_told_change after update on tenure.job for each row
    when ((old.running, old.token, old.attempt) is distinct from (new.running, new.token, new.attempt))
    execute function stress.tell_job();

create function stress.tell_lease() returns trigger language plpgsql as $$
declare
    l tenure.lease := case when tg_op = 'DELETE' then old else new end;
begin
    perform stress.tell('lease', tg_op, jsonb_build_object(
        'token', l.token, 'queue', l.queue, 'owner', l.owner, 'units', l.units,
        'granted_at', stress.micros(l.granted_at), 'expires_at', stress.micros(l.expires_at),
        'beat_at', stress.micros(l.last_beat_at)));
    return null;
end $$;
create trigger stress_told after insert or delete on tenure.lease for each row execute function stress.tell_lease();
create trigger stress_told_change after update on tenure.lease for each row
    when (old.expires_at <> new.expires_at) execute function stress.tell_lease();

create function stress.tell_finished() returns trigger language plpgsql as $$
declare
    f tenure.finished := case when tg_op = 'DELETE' then old else new end;
begin
    perform stress.tell('finished', tg_op, jsonb_build_object(
        'id', f.id, 'queue', f.queue, 'payload', f.payload::jsonb, 'token', f.token, 'status', f.status,
        'reason', f.reason, 'verb', f.verb, 'finished_at', stress.micros(f.finished_at)));
    return null;
end $$;
create trigger stress_told after insert or delete on tenure.finished for each row
    execute function stress.tell_finished();
