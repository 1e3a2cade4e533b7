-- The books of a domain: what ended, what waits, what happened. Callers hold the domain's row, and write it back.

-- Whether one of the ranges beside the one that grew last holds an offset (D6: one step down one index).
create or replace function tenure.domain_holds(of_domain bigint, of_failed boolean, of_offset bigint) returns boolean
language sql stable as $$
    select coalesce((select r.to_offset from tenure.domain_range r
                      where r.domain = of_domain and r.failed = of_failed and r.from_offset <= of_offset
                      order by r.from_offset desc limit 1) >= of_offset, false)
$$;

-- How an offset ended: `processed`, `failed`, or null if it has not (D6: mostly without a look at the ranges).
create or replace function tenure.domain_terminal(d tenure.domain, of_offset bigint) returns text
language plpgsql stable as $$
begin
    -- Nothing beyond the largest has ended.
    if d.ended_top is null or of_offset > d.ended_top then
        return null;
    end if;
    if not of_offset between d.ended_from and d.ended_to
       and (d.ended_others = 0 or not tenure.domain_holds(d.id, false, of_offset)) then
        return null;
    end if;
    if of_offset between d.failed_from and d.failed_to
       or d.failed_others > 0 and tenure.domain_holds(d.id, true, of_offset) then
        return 'failed';
    end if;
    return 'processed';
end $$;

-- Adds an offset to the ranges of all that ended, or of those that failed; the caller has looked that it is in none.
-- Ranges that touch become one, which is the one that grew last; it is on the domain's row, and the `others` are here.
create or replace function tenure.domain_grow(
    of_domain bigint, of_failed boolean, of_offset bigint,
    inout last_from bigint, inout last_to bigint, inout others bigint
) language plpgsql as $$
declare
    before bigint := others;
    from_new bigint := of_offset;
    to_new bigint := of_offset;
    below tenure.domain_range;
    taken bigint;
begin
    if last_to = of_offset - 1 then
        from_new := last_from;
    elsif last_from - 1 = of_offset then
        to_new := last_to;
    elsif last_to is not null then
        insert into tenure.domain_range values (of_domain, of_failed, last_from, last_to);
        others := others + 1;
    end if;
    if before > 0 and from_new = of_offset then
        select * into below from tenure.domain_range r
         where r.domain = of_domain and r.failed = of_failed and r.from_offset < of_offset
         order by r.from_offset desc limit 1;
        if below.to_offset = of_offset - 1 then
            delete from tenure.domain_range r
             where r.domain = of_domain and r.failed = of_failed and r.from_offset = below.from_offset;
            others := others - 1;
            from_new := below.from_offset;
        end if;
    end if;
    -- No offset follows the last one there is.
    if before > 0 and to_new = of_offset and of_offset < 9223372036854775807 then
        delete from tenure.domain_range r
         where r.domain = of_domain and r.failed = of_failed and r.from_offset = of_offset + 1
        returning r.to_offset into taken;
        if taken is not null then
            others := others - 1;
            to_new := taken;
        end if;
    end if;
    last_from := from_new;
    last_to := to_new;
end $$;

-- An offset ended; the caller has looked that it had not.
create or replace function tenure.domain_end(inout d tenure.domain, of_offset bigint, failed boolean)
language plpgsql as $$
begin
    select g.last_from, g.last_to, g.others into d.ended_from, d.ended_to, d.ended_others
      from tenure.domain_grow(d.id, false, of_offset, d.ended_from, d.ended_to, d.ended_others) g;
    d.ended_top := greatest(d.ended_top, d.ended_to);
    if failed then
        select g.last_from, g.last_to, g.others into d.failed_from, d.failed_to, d.failed_others
          from tenure.domain_grow(d.id, true, of_offset, d.failed_from, d.failed_to, d.failed_others) g;
    end if;
end $$;

-- The first offset that waits, or null.
create or replace function tenure.domain_head(d tenure.domain) returns bigint language plpgsql stable as $$
begin
    if d.backlog_len = 0 then
        return null;
    end if;
    return (select w.waiting_offset from tenure.domain_waiting w where w.domain = d.id order by w.seq limit 1);
end $$;

-- Something happened (L8); the event before the last hundred gives way.
create or replace function tenure.domain_tell(
    inout d tenure.domain, what text, of_offset bigint, token bigint, holder text, nth integer, now timestamptz,
    by_actor text default null
) language plpgsql as $$
begin
    d.event_seq := d.event_seq + 1;
    insert into tenure.domain_event (domain, seq, at, event_offset, token, nth, what, holder, by)
    values (d.id, d.event_seq, now, of_offset, domain_tell.token, domain_tell.nth, domain_tell.what, domain_tell.holder,
            by_actor);
    -- That one alone: a look for all before it would walk over what this transaction has deleted already.
    if d.event_seq > 100 then
        delete from tenure.domain_event e where e.domain = d.id and e.seq = d.event_seq - 100;
    end if;
end $$;

-- The document's words for a lease that is not held under this token (D1), null if it is: core's `Refused::lost_by`. The
-- document guards by the token alone.
create or replace function tenure.domain_lost(d tenure.domain, under_token bigint, now timestamptz) returns text
language sql immutable as $$
    select case when v.lost = 'expired' then 'lease_lost'
                when v.lost is not null and d.current_offset is null then 'lease_not_found'
                when v.lost is not null then 'token_mismatch' end
      from tenure.judge_claim(
           null, under_token, false, null, null, null, d.last_token,
           case when d.current_offset is not null and d.last_token = under_token
                then coalesce(d.expires_at, 'infinity') end, now) v
$$;

-- A write was refused (L8): counted by token and code. Beyond a hundred, those refused the longest ago give way.
create or replace function tenure.domain_refuse(
    d tenure.domain, of_code text, of_token bigint, of_verb text, now timestamptz
) returns void language plpgsql as $$
declare
    times bigint;
begin
    insert into tenure.domain_refusal as r (domain, at, token, code, verb)
    values (d.id, now, of_token, of_code, of_verb)
    on conflict (domain, code, token) do update
       set first_at = coalesce(r.first_at, r.at), at = excluded.at, verb = excluded.verb, count = r.count + 1
    returning r.count into times;
    if times = 1 then
        delete from tenure.domain_refusal r
         where r.domain = d.id
           and (r.code, r.token) in (select k.code, k.token from tenure.domain_refusal k where k.domain = d.id
                                      order by k.at desc, k.code desc, k.token desc offset 100);
    end if;
end $$;

-- Nothing is in flight any more.
create or replace function tenure.domain_clear(inout d tenure.domain) language plpgsql immutable as $$
begin
    d.current_offset := null;
    d.acquired_at := null;
    d.retry_count := 0;
    d.takeovers := 0;
    d.holder := null;
    d.lease_ms := null;
    d.expires_at := null;
    d.expiry_told := false;
end $$;

-- A new token for this offset, and the deadline its caller asked for.
create or replace function tenure.domain_grant(
    inout d tenure.domain, base bigint, holder text, lease_ms bigint, now timestamptz
) language plpgsql immutable as $$
begin
    d.last_token := tenure.next_token(d.last_token, base);
    d.holder := domain_grant.holder;
    d.lease_ms := domain_grant.lease_ms;
    d.expires_at := tenure.later(now, domain_grant.lease_ms);
    d.expiry_told := false;
end $$;

-- What happens to a lease that ran out, when someone meets it (L7): it is told, once per token, and an offset whose
-- takeovers are spent fails for good (D4): then nothing is in flight any more.
create or replace function tenure.domain_expire(inout d tenure.domain, now timestamptz) language plpgsql as $$
begin
    if d.current_offset is null or d.expires_at is null or d.expires_at > now then
        return;
    end if;
    if not d.expiry_told then
        d := tenure.domain_tell(d, 'expired', d.current_offset, d.last_token, d.holder, null, now);
        d.expiry_told := true;
    end if;
    if d.takeovers >= d.takeovers_max then
        d := tenure.domain_tell(d, 'takeovers_spent', d.current_offset, d.last_token, d.holder, d.takeovers, now);
        d := tenure.domain_end(d, d.current_offset, true);
        d := tenure.domain_clear(d);
    end if;
end $$;

-- Writes a row back as a verb left it.
create or replace function tenure.domain_save(d tenure.domain) returns void language sql as $$
    update tenure.domain t
       set last_token = d.last_token, current_offset = d.current_offset, acquired_at = d.acquired_at,
           lease_ms = d.lease_ms, expires_at = d.expires_at, ended_from = d.ended_from, ended_to = d.ended_to,
           ended_top = d.ended_top, ended_others = d.ended_others, failed_from = d.failed_from, failed_to = d.failed_to,
           failed_others = d.failed_others, waiting_seq = d.waiting_seq, event_seq = d.event_seq,
           backlog_len = d.backlog_len, retry_count = d.retry_count, takeovers = d.takeovers,
           expiry_told = d.expiry_told, holder = d.holder
     where t.id = d.id;
$$;
