-- One verb on one domain, as its document words it (D1), with holder, expiry and skip (D3, D4, D7). The quick ways of
-- `domain_acquire` and its neighbours answer most calls; what they leave comes here.
-- Parameters  `d`: the domain's row, which the caller holds, and null where there is none; it comes back as the verb left
--             it, `changed` if that is to be written. `verb`: acquire, succeed, fail, heartbeat or skip. `base` is that of
--             the epoch (L2). `now` was read after the row was locked (L5).
-- Guard       succeed, fail, heartbeat: the token of the lease, and a lease that has not run out.
-- Reply       `word`, in the document's words or as the code of the refusal; `fact`: the hint, the expired offset, the
--             expected offset or the count of retries.
create or replace function tenure.domain_step(
    verb text, inout d tenure.domain, ask tenure.domain_ask, base bigint, now timestamptz, by_actor text default null,
    out word text, out told bigint, out fact bigint, out until timestamptz, out changed boolean
) language plpgsql set enable_seqscan = off set jit = off as $$
declare
    ended text;
    expired boolean;
    head bigint;
    moved bigint;
begin
    changed := false;
    expired := coalesce(d.current_offset is not null and d.expires_at <= now, false);

    if verb in ('succeed', 'fail', 'heartbeat') then
        word := tenure.domain_lost(d, ask.token, now);
        if word is not null then
            if d.id is not null then
                perform tenure.domain_refuse(d, word, greatest(ask.token, 0), domain_step.verb, now);
            end if;
            return;
        end if;
    end if;

    if verb in ('acquire', 'skip') then
        ended := tenure.domain_terminal(d, ask.at_offset);
        if ended is not null then
            word := case ended when 'failed' then 'ALREADY_FAILED' else 'ALREADY_PROCESSED' end;
            return;
        end if;
    end if;

    case verb
    when 'acquire' then
        if d.current_offset is null then
            head := tenure.domain_head(d);
            if head <> ask.at_offset then
                word := 'backlog_ordering';
                fact := head;
                return;
            end if;
            if head is not null then
                delete from tenure.domain_waiting w where w.domain = d.id and w.waiting_offset = ask.at_offset;
                d.backlog_len := d.backlog_len - 1;
            end if;
            d := tenure.domain_grant(d, base, ask.holder, ask.lease_ms, now);
            d.current_offset := ask.at_offset;
            d.acquired_at := now;
            word := 'ACQUIRED';
            told := d.last_token;
        elsif d.current_offset <> ask.at_offset then
            insert into tenure.domain_waiting (domain, seq, waiting_offset, since)
            values (d.id, d.waiting_seq + 1, ask.at_offset, now) on conflict (domain, waiting_offset) do nothing;
            get diagnostics moved = row_count;
            word := 'ENQUEUED';
            fact := case when expired then d.current_offset end;
            if moved = 0 then
                return;
            end if;
            d.waiting_seq := d.waiting_seq + 1;
            d.backlog_len := d.backlog_len + 1;
        elsif not expired then
            word := case when d.holder is null or d.holder is not distinct from ask.holder
                         then 'ALREADY_ACQUIRED' else 'HELD_BY_OTHER' end;
            told := case word when 'ALREADY_ACQUIRED' then d.last_token end;
            return;
        else
            d := tenure.domain_expire(d, now);
            if d.current_offset is null then
                word := 'ALREADY_FAILED';
            else
                d := tenure.domain_grant(d, base, ask.holder, ask.lease_ms, now);
                d.takeovers := d.takeovers + 1;
                d := tenure.domain_tell(d, 'taken_over', ask.at_offset, d.last_token, d.holder, d.takeovers, now);
                word := 'ACQUIRED';
                told := d.last_token;
            end if;
        end if;
    when 'succeed' then
        d := tenure.domain_end(d, d.current_offset, false);
        d := tenure.domain_clear(d);
        fact := tenure.domain_head(d);
        word := case when fact is null then 'NO_BACKLOG' else 'NEXT_HINT' end;
    when 'fail' then
        if d.retry_count >= d.max_retries then
            d := tenure.domain_tell(d, 'gave_up', d.current_offset, d.last_token, d.holder, d.retry_count, now);
            d := tenure.domain_end(d, d.current_offset, true);
            d := tenure.domain_clear(d);
            fact := tenure.domain_head(d);
            word := case when fact is null then 'GIVE_UP_NO_BACKLOG' else 'GIVE_UP_NEXT_HINT' end;
        else
            d.retry_count := d.retry_count + 1;
            d := tenure.domain_tell(d, 'retried', d.current_offset, d.last_token, d.holder, d.retry_count, now);
            fact := d.retry_count;
            word := 'RETRY_SCHEDULED';
        end if;
    when 'heartbeat' then
        d.expires_at := greatest(d.expires_at, tenure.later(now, d.lease_ms));
        until := d.expires_at;
        word := 'RENEWED';
    when 'skip' then
        word := 'SKIPPED';
        if d.current_offset = ask.at_offset then
            d := tenure.domain_tell(d, 'skipped', ask.at_offset, d.last_token, d.holder, null, now,
                                    tenure.actor(by_actor));
            d := tenure.domain_clear(d);
        else
            d := tenure.domain_tell(d, 'skipped', ask.at_offset, null, null, null, now, tenure.actor(by_actor));
            if d.backlog_len > 0 then
                delete from tenure.domain_waiting w where w.domain = d.id and w.waiting_offset = ask.at_offset;
                get diagnostics moved = row_count;
                d.backlog_len := d.backlog_len - moved;
            end if;
        end if;
        d := tenure.domain_end(d, ask.at_offset, true);
    end case;
    changed := true;
end $$;

-- One verb on one domain, which its caller holds.
create or replace function tenure.domain_one(
    verb text, ask tenure.domain_ask, base bigint, now timestamptz,
    out word text, out told bigint, out fact bigint, out until timestamptz
) language plpgsql set enable_seqscan = off set jit = off as $$
declare
    d tenure.domain;
    done record;
begin
    select t.* into d from tenure.domain t where t.name = ask.name;
    select s.* into done from tenure.domain_step(verb, d, ask, base, now) s;
    if done.changed then
        perform tenure.domain_save(done.d);
    end if;
    word := done.word;
    told := done.told;
    fact := done.fact;
    until := done.until;
end $$;

-- Makes domains that were never used. Before any row is locked, and in one order, so that two callers never wait for
-- each other (L10).
create or replace function tenure.domain_make(names text[]) returns void language plpgsql
  set enable_seqscan = off set jit = off as $$
begin
    if (select count(*) from tenure.domain d where d.name = any (names)) < cardinality(names) then
        insert into tenure.domain (name, created_at)
        select distinct n.name collate "C", tenure.clock() from unnest(names) as n(name)
         where not exists (select from tenure.domain d where d.name = n.name)
         order by 1
        on conflict do nothing;
    end if;
end $$;

-- Locks the domains of what is asked in one order (L10); those that are missing are made first, if `make`.
-- Parameters  `asked`: of each the fields that its verb has, the others null.
-- Reply       what is asked, without its name where the domain is not there: one that another makes a moment later is seen
--             by the statements that follow, but nobody keeps others from it.
create or replace function tenure.domain_lock(asked tenure.domain_ask[], make boolean) returns tenure.domain_ask[] language plpgsql as $$
declare
    names text[] := array(select distinct a.name from unnest(asked) a);
    locked text[];
begin
    if make then
        perform tenure.domain_make(names);
    end if;
    select array_agg(l.name) into locked
      from (select d.name from tenure.domain d where d.name = any (names) order by d.name for no key update) l;
    if cardinality(locked) = cardinality(names) then
        return asked;
    end if;
    return array(select row(case when a.name = any (locked) then a.name end, a.at_offset, a.token, a.holder,
                            a.lease_ms)::tenure.domain_ask
                   from unnest(asked) with ordinality as a(name, at_offset, token, holder, lease_ms, ord) order by a.ord);
end $$;

-- One verb on many domains, each in the order of the call; a name may come more than once. For verbs without a quick way,
-- and for what a call asks of a domain after its first.
-- Parameters  `asked` as in `domain_lock`; of `skip` who does it.
-- Writes      each row once, whatever is asked of it: a row that one transaction has written a thousand times is found
--             by walking over all it was.
create or replace function tenure.domain_each(verb text, asked tenure.domain_ask[], by_actor text default null)
returns table (ord bigint, word text, told bigint, fact bigint, until timestamptz) language plpgsql
  set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set jit = off as $$
#variable_conflict use_column
declare
    asks tenure.domain_ask[];
    base bigint;
    now timestamptz;
    item record;
    done record;
    d tenure.domain;
    changed boolean := false;
begin
    perform tenure.durably();
    asks := tenure.domain_lock(asked, verb in ('acquire', 'skip'));
    now := tenure.clock();
    if verb = 'acquire' then
        base := tenure.token_base();
    end if;
    for item in
        select i.name, i.ord from unnest(asks) with ordinality as i(name, at_offset, token, holder, lease_ms, ord)
         order by i.name collate "C", i.ord
    loop
        if item.name is null or d.name is distinct from item.name then
            if changed then
                perform tenure.domain_save(d);
            end if;
            changed := false;
            select t.* into d from tenure.domain t where t.name = item.name;
        end if;
        select s.* into done from tenure.domain_step(verb, d, asks[item.ord], base, now, by_actor) s;
        d := done.d;
        changed := changed or done.changed;
        ord := item.ord;
        word := done.word;
        told := done.told;
        fact := done.fact;
        until := done.until;
        return next;
    end loop;
    if changed then
        perform tenure.domain_save(d);
    end if;
end $$;

-- The same for whoever holds offsets; to skip one that nobody holds is the operator's.
-- Rights      the owner's.
create or replace function tenure.domain_in_turn(verb text, asked tenure.domain_ask[])
returns table (ord bigint, word text, told bigint, fact bigint, until timestamptz) language plpgsql
  security definer set search_path = pg_catalog, pg_temp as $$
begin
    if (verb in ('acquire', 'succeed', 'fail', 'heartbeat')) is not true then
        perform tenure.refuse('out_of_bounds', '`verb` must be acquire, succeed, fail or heartbeat');
    end if;
    return query select * from tenure.domain_each(verb, asked);
end $$;
