-- The queue for plain SQL: enqueue, complete, fail and held in the caller's own transaction, in any language (Q10).
-- What they refuse raises: TE010 bad input, TE003 another body under a dedup key, TE020 a lost lease. Settings of the
-- caller's session that change how text or numbers are read do not reach into them.

-- A number among a caller's options; null where it was not sent.
create or replace function tenure.option_number(o jsonb, path text[], at_least numeric, at_most numeric, whole boolean)
returns numeric language plpgsql immutable as $$
declare
    field text := array_to_string(path, '.');
    sent jsonb := o #> path;
    n numeric;
begin
    if sent is null then
        return null;
    end if;
    if jsonb_typeof(sent) <> 'number' or whole and (sent #>> '{}')::numeric % 1 <> 0 then
        perform tenure.refuse('wrong_type', format('`%s` must be %s; got %s', field,
                                                   case when whole then 'an integer' else 'a number' end, left(sent::text, 80)));
    end if;
    n := (sent #>> '{}')::numeric;
    if n not between at_least and at_most then
        perform tenure.refuse('out_of_bounds', format('`%s` must be %s to %s; got %s', field, at_least, at_most,
                                                      left(n::text, 80)));
    end if;
    return n;
end $$;

-- Refuses options that no field goes by.
create or replace function tenure.only_known(field text, o jsonb, known text[]) returns void language plpgsql immutable as $$
declare
    unknown text;
begin
    if jsonb_typeof(o) <> 'object' then
        perform tenure.refuse('wrong_type', format('`%s` must be an object', field));
    end if;
    unknown := (select n from jsonb_object_keys(o) n where n <> all (known) order by n limit 1);
    if unknown is not null then
        perform tenure.refuse('unknown_field', format('`%s` has no field `%s`; it knows %s', field, left(unknown, 80),
                                                      array_to_string(known, ', ')));
    end if;
end $$;

-- Adds a job in the caller's transaction.
-- Parameters  `options`: priority, run_at, attempts_max, timeout_ms, backoff, key, key_window_ms, ordering_key,
--             limit_key; `notify` false spares the wake-up, which takes a lock that all commits share. Null is not sent.
-- Reply       its id; for a remembered key the id of the job it stands for.
-- Rights      the owner's: whoever may call it may enqueue, and needs no right to any table. So nobody may call it who
--             was not granted it; everything it says is checked here, and the search path is pinned.
create or replace function tenure.enqueue(queue text, kind text, payload text, options jsonb default '{}')
returns bigint language plpgsql security definer set search_path = pg_catalog, pg_temp
  set standard_conforming_strings = on set extra_float_digits = 1 as $$
declare
    name_of constant text := '^[A-Za-z0-9][A-Za-z0-9._:-]{0,127}$';
    span_max constant bigint := 316224000000;
    o jsonb := jsonb_strip_nulls(coalesce(options, '{}'));
    field text;
    run_at timestamptz;
    canonical text;
    id bigint;
begin
    perform tenure.only_known('options', o, array['priority', 'run_at', 'attempts_max', 'timeout_ms', 'backoff', 'key',
                                                  'key_window_ms', 'ordering_key', 'limit_key', 'notify']);
    if queue is null or queue !~ name_of then
        perform tenure.refuse('invalid_name', '`queue` must be 1 to 128 of A-Z a-z 0-9 . _ : -, starting with a letter or digit');
    end if;
    if kind is null or kind !~ name_of then
        perform tenure.refuse('invalid_name', '`kind` must be 1 to 128 of A-Z a-z 0-9 . _ : -, starting with a letter or digit');
    end if;
    foreach field in array array['key', 'ordering_key', 'limit_key', 'run_at'] loop
        if o ? field and jsonb_typeof(o -> field) <> 'string' then
            perform tenure.refuse('wrong_type', format('`%s` must be a string', field));
        end if;
    end loop;
    foreach field in array array['key', 'ordering_key', 'limit_key'] loop
        if octet_length(o ->> field) not between 1 and 256 then
            perform tenure.refuse('invalid_name', format('`%s` must be 1 to 256 bytes of UTF-8', field));
        elsif o ->> field ~ '[\u0001-\u001f\u007f-\u009f\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]' then
            perform tenure.refuse('unsupported_character',
                                  format('`%s` holds a control or bidirectional character, which is not allowed in keys', field));
        end if;
    end loop;
    if o ? 'key_window_ms' and not o ? 'key' then
        perform tenure.refuse('out_of_bounds', '`key_window_ms` must be sent together with `key`');
    end if;
    if o ? 'notify' and jsonb_typeof(o -> 'notify') <> 'boolean' then
        perform tenure.refuse('wrong_type', '`notify` must be true or false');
    end if;
    if o ? 'backoff' then
        perform tenure.only_known('backoff', o -> 'backoff', array['initial_ms', 'factor', 'max_ms', 'jitter']);
    end if;
    if o ? 'run_at' then
        begin
            run_at := (o ->> 'run_at')::timestamptz;
        exception when invalid_text_representation or datetime_field_overflow or invalid_datetime_format
                    or invalid_parameter_value then
            perform tenure.refuse('wrong_type', format('`run_at` must be an instant, as 2026-01-31T12:00:00Z; got %s',
                                                       left(o ->> 'run_at', 80)));
        end;
    end if;
    if run_at not between timestamptz '0001-01-01 00:00:00+00' and timestamptz '9999-12-31 23:59:59.999999+00' then
        perform tenure.refuse('out_of_bounds', '`run_at` must be between the years 1 and 9999');
    end if;
    if payload is null then
        perform tenure.refuse('missing_field', '`payload` must be JSON; use ''null'' for none');
    end if;
    canonical := tenure.checked_json('payload', payload);

    select e.id into id from tenure.enqueue_given(
        array[queue], array[kind], array[payload],
        array[coalesce(tenure.option_number(o, '{priority}', -2147483648, 2147483647, true), 0)::integer],
        array[run_at],
        array[coalesce(tenure.option_number(o, '{attempts_max}', 1, 1000, true), 5)::integer],
        array[tenure.option_number(o, '{timeout_ms}', 1, span_max, true)::bigint],
        array[case when o ? 'backoff' then
                  array[coalesce(tenure.option_number(o, '{backoff,initial_ms}', 0, span_max, true), 1000),
                        coalesce(tenure.option_number(o, '{backoff,factor}', 1, 100, false), 2),
                        coalesce(tenure.option_number(o, '{backoff,max_ms}', 0, span_max, true), 3600000),
                        coalesce(tenure.option_number(o, '{backoff,jitter}', 0, 1, false), 0.2)]::double precision[]::text end],
        case when o ? 'ordering_key' then array[o ->> 'ordering_key'] end,
        case when o ? 'limit_key' then array[o ->> 'limit_key'] end,
        case when o ? 'key' then array[o ->> 'key'] end,
        array[tenure.option_number(o, '{key_window_ms}', 1, span_max, true)::bigint],
        case when o ? 'key' then array[sha256(convert_to(kind || E'\n' || canonical, 'UTF8'))] end, true) e;
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
-- ends, even if the lease runs out meanwhile. One line makes a transaction fenced. Never blocks a heartbeat: only the job
-- is key-shared. Not its lease, which an ending removes while it holds the job: that would wait for this transaction, and
-- this transaction, which ends the job next, for that.
create or replace function tenure.held(job bigint, owner text, token bigint) returns void language plpgsql
  security definer set search_path = pg_catalog, pg_temp as $$
declare
    mine boolean;
begin
    perform tenure.durably();
    perform from tenure.job j where j.id = held.job for key share;
    mine := exists (select from tenure.lease l join tenure.job j on j.id = held.job and j.token = l.token and j.running
                     where l.token = held.token and l.owner = held.owner and l.expires_at > tenure.clock());
    if not mine then
        perform tenure.lease_lost((select coalesce(v.lost, 'finished')
                                     from tenure.judge(held.job, held.owner, held.token, null, tenure.clock()) v));
    end if;
end $$;

-- Ends a claim in the caller's transaction; raises where the lease is lost.
-- Parameters  as of `tenure.finish`; `chance` null is drawn here.
-- Reply       where the job stands now; `already` where the same ending was accepted before (L12).
create or replace function tenure.finish_one(
    job bigint, owner text, token bigint, verb text, result text, error text, delay_ms bigint, chance double precision,
    out status text, out already boolean
) language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    ended record;
begin
    perform from tenure.job j where j.id = finish_one.job for update;
    select * into ended from tenure.end_claims(
        array[job], array[owner], array[token], array[verb], array[result], array[error], array[delay_ms],
        array[coalesce(chance, random() * 2 - 1)], true);
    if ended.lost is not null then
        perform tenure.lease_lost(ended.lost);
    end if;
    if ended.wakes is not null then
        perform pg_notify(rtrim('tenure.', '.') || '_wake', ended.wakes);
    end if;
    status := ended.status;
    already := ended.already;
end $$;

create or replace function tenure.complete(job bigint, owner text, token bigint, result text default null)
returns text language plpgsql security definer set search_path = pg_catalog, pg_temp
  set standard_conforming_strings = on set extra_float_digits = 1 as $$
begin
    perform tenure.checked_json('result', result);
    return (select f.status from tenure.finish_one(job, owner, token, 'complete', result, null, null, null) f);
end $$;

-- Parameters  `retry` false is final; `retry_in_ms` null waits by the job's backoff.
create or replace function tenure.fail(
    job bigint, owner text, token bigint, error text, retry boolean default true, retry_in_ms bigint default null
) returns text language plpgsql security definer set search_path = pg_catalog, pg_temp
  set standard_conforming_strings = on set extra_float_digits = 1 as $$
declare
    kept text := coalesce(error, '');
begin
    if retry_in_ms not between 0 and 316224000000 then
        perform tenure.refuse('out_of_bounds', format('`retry_in_ms` must be 0 to 316224000000; got %s', retry_in_ms));
    end if;
    -- Cut to 8192 bytes as everywhere, at a character, of which the largest has four.
    if octet_length(kept) > 8192 then
        kept := left(kept, 8183);
        while octet_length(kept) > 8183 loop
            kept := left(kept, length(kept) - (octet_length(kept) - 8183 + 3) / 4);
        end loop;
        kept := kept || '… (cut)';
    end if;
    return (select f.status from tenure.finish_one(job, owner, token, 'fail', null, kept,
                                                   case when coalesce(retry, true) then retry_in_ms else -1 end, null) f);
end $$;
