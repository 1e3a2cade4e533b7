-- The queue for plain SQL: enqueue, complete, fail and held in the caller's own transaction, in any language (Q10).
-- What they refuse raises: TE010 bad input, TE003 another body under a dedup key, TE020 a lost lease.

-- Adds a job in the caller's transaction.
-- Parameters  `options`: priority, run_at, attempts_max, timeout_ms, backoff, key, key_window_ms, ordering_key,
--             limit_key; `notify` false spares the wake-up, which takes a lock that all commits share.
-- Reply       its id; for a remembered key the id of the job it stands for.
create or replace function tenure.enqueue(queue text, kind text, payload text, options jsonb default '{}')
returns bigint language plpgsql as $$
declare
    name_of constant text := '^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$';
    -- `run_at_micros` is what our own library sends: microseconds since 1970.
    known constant text[] := array['priority', 'run_at', 'run_at_micros', 'attempts_max', 'timeout_ms', 'backoff', 'key',
                                   'key_window_ms', 'ordering_key', 'limit_key', 'notify'];
    span_max constant bigint := 316224000000;
    o jsonb := jsonb_strip_nulls(coalesce(options, '{}'));
    unknown text;
    field text;
    canonical text;
    id bigint;
begin
    if jsonb_typeof(o) <> 'object' then
        perform tenure.refuse('wrong_type', '`options` must be an object');
    end if;
    unknown := (select n from jsonb_object_keys(o) n where n <> all (known) order by n limit 1);
    if unknown is not null then
        perform tenure.refuse('unknown_field', format('`options` has no field `%s`; it knows %s', unknown,
                                                      array_to_string(known, ', ')));
    end if;
    if queue is null or queue !~ name_of then
        perform tenure.refuse('invalid_name', '`queue` must be 1 to 128 of A-Z a-z 0-9 . _ : -, starting with a letter or digit');
    end if;
    if kind is null or kind !~ name_of then
        perform tenure.refuse('invalid_name', '`kind` must be 1 to 128 of A-Z a-z 0-9 . _ : -, starting with a letter or digit');
    end if;
    foreach field in array array['key', 'ordering_key', 'limit_key'] loop
        if o ? field and (octet_length(o ->> field) not between 1 and 256
                          or o ->> field ~ '[\u0001-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]') then
            perform tenure.refuse('invalid_name', format('`%s` must be 1 to 256 bytes without control characters', field));
        end if;
    end loop;
    begin
        if (o ->> 'attempts_max')::integer not between 1 and 1000 then
            perform tenure.refuse('out_of_bounds', '`attempts_max` must be 1 to 1000');
        end if;
        if (o ->> 'timeout_ms')::bigint not between 1 and span_max then
            perform tenure.refuse('out_of_bounds', format('`timeout_ms` must be 1 to %s', span_max));
        end if;
        if (o ->> 'key_window_ms')::bigint not between 1 and span_max then
            perform tenure.refuse('out_of_bounds', format('`key_window_ms` must be 1 to %s', span_max));
        end if;
        if (o ->> 'run_at')::timestamptz not between timestamptz '0001-01-01 00:00:00+00'
                                                 and timestamptz '9999-12-31 23:59:59.999999+00' then
            perform tenure.refuse('out_of_bounds', '`run_at` must be between the years 1 and 9999');
        end if;
        perform (o ->> 'priority')::integer, (o -> 'backoff' ->> 'initial_ms')::bigint;
    exception when invalid_text_representation or numeric_value_out_of_range or datetime_field_overflow
                or invalid_datetime_format then
        perform tenure.refuse('wrong_type', 'an option is not of its type: ' || sqlerrm);
    end;
    if octet_length(payload) > 1048576 then
        perform tenure.refuse('too_large', '`payload` is too large: at most 1048576 bytes');
    end if;
    if payload is null then
        perform tenure.refuse('missing_field', '`payload` must be JSON; use ''null'' for none');
    end if;
    canonical := tenure.checked_json('payload', payload);

    select e.id into id from tenure.enqueue_all(
        array[queue], array[kind], array[payload], array[coalesce((o ->> 'priority')::integer, 0)],
        array[coalesce((o ->> 'run_at')::timestamptz,
                       timestamptz 'epoch' + ((o ->> 'run_at_micros')::bigint / 1000000) * interval '1 second'
                           + ((o ->> 'run_at_micros')::bigint % 1000000) * interval '1 microsecond')], array[coalesce((o ->> 'attempts_max')::integer, 5)],
        array[(o ->> 'timeout_ms')::bigint],
        array[case when o ? 'backoff' then
                  array[coalesce((o -> 'backoff' ->> 'initial_ms')::double precision, 1000),
                        coalesce((o -> 'backoff' ->> 'factor')::double precision, 2),
                        coalesce((o -> 'backoff' ->> 'max_ms')::double precision, 3600000),
                        coalesce((o -> 'backoff' ->> 'jitter')::double precision, 0.2)]::text end],
        case when o ? 'ordering_key' then array[o ->> 'ordering_key'] end,
        case when o ? 'limit_key' then array[o ->> 'limit_key'] end,
        case when o ? 'key' then array[o ->> 'key'] end,
        array[(o ->> 'key_window_ms')::bigint],
        case when o ? 'key' then array[sha256(convert_to(kind || E'\n' || canonical, 'UTF8'))] end) e;
    if coalesce((o ->> 'notify')::boolean, true) then
        perform pg_notify(rtrim('tenure.', '.') || '_wake', queue);
    end if;
    return id;
end $$;

-- The same for payloads that are already JSON.
create or replace function tenure.enqueue(queue text, kind text, payload json, options jsonb default '{}')
returns bigint language sql as $$ select tenure.enqueue(queue, kind, payload::text, options) $$;
create or replace function tenure.enqueue(queue text, kind text, payload jsonb, options jsonb default '{}')
returns bigint language sql as $$ select tenure.enqueue(queue, kind, payload::text, options) $$;

-- Raises TE020 for a lease that is not held.
create or replace function tenure.lease_lost(reason text) returns void language plpgsql as $$
begin
    raise exception 'tenure: lease lost (%)', reason using errcode = 'TE020', detail = reason;
end $$;

-- Raises unless the lease is held at this moment, and keeps others from taking the work until the caller's transaction
-- ends, even if the lease runs out meanwhile. One line makes a transaction fenced. Never blocks a heartbeat: both rows
-- are only key-shared.
create or replace function tenure.held(job bigint, owner text, token bigint) returns void language plpgsql as $$
declare
    mine boolean;
begin
    perform tenure.durably();
    perform from tenure.lease l where l.token = held.token for key share;
    perform from tenure.job j where j.id = held.job for key share;
    mine := exists (select from tenure.lease l join tenure.job j on j.id = held.job and j.token = l.token and j.running
                     where l.token = held.token and l.owner = held.owner and l.expires_at > tenure.clock());
    if not mine then
        perform tenure.lease_lost((select coalesce(v.lost, 'finished')
                                     from tenure.judge(held.job, held.owner, held.token, null, tenure.clock()) v));
    end if;
end $$;

-- Ends a claim in the caller's transaction. Reply: where the job stands now.
create or replace function tenure.finish_one(
    job bigint, owner text, token bigint, verb text, result text, error text, delay_ms bigint
) returns text language plpgsql as $$
declare
    ended record;
begin
    select * into ended from tenure.finish(
        array[job], array[owner], array[token], array[verb], array[result], array[error], array[delay_ms],
        array[random() * 2 - 1], true);
    if ended.lost is not null then
        perform tenure.lease_lost(ended.lost);
    end if;
    if ended.wakes is not null then
        perform pg_notify(rtrim('tenure.', '.') || '_wake', ended.wakes);
    end if;
    return ended.status;
end $$;

create or replace function tenure.complete(job bigint, owner text, token bigint, result text default null)
returns text language plpgsql as $$
begin
    perform tenure.checked_json('result', result);
    return tenure.finish_one(job, owner, token, 'complete', result, null, null);
end $$;

-- Parameters  `retry` false is final; `retry_in_ms` null waits by the job's backoff.
create or replace function tenure.fail(
    job bigint, owner text, token bigint, error text, retry boolean default true, retry_in_ms bigint default null
) returns text language plpgsql as $$
begin
    if retry_in_ms not between 0 and 316224000000 then
        perform tenure.refuse('out_of_bounds', '`retry_in_ms` must be 0 to 316224000000');
    end if;
    return tenure.finish_one(job, owner, token, 'fail', null, left(coalesce(error, ''), 8192),
                             case when retry then retry_in_ms else -1 end);
end $$;
