-- Succeeds with what is in flight (D1), each domain answered on its own; and, where it `advances`, acquires in the same step
-- what comes next: the head of the backlog, or else the offset named (null: none).
-- Parameters  `asked` as in `domain_lock`, no name twice: the token, and of an advance offset, holder and span.
-- Guard       the token of the lease, and a lease that has not run out, judged after the rows are locked (L4, L5).
-- Quick way   the offset lies beyond everything that ended: one update of all such rows. The range that grew last
--             grows, or gives way to a new one.
-- Reply       `hint` is what waits first; `next_offset` what was asked for next, and `next_word`, `next_told` the answer.
create or replace function tenure.domain_succeed(asked tenure.domain_ask[], advances boolean default false)
returns table (ord bigint, word text, hint bigint, next_offset bigint, next_word text, next_told bigint)
  language plpgsql security definer set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
#variable_conflict use_column
declare
    asks tenure.domain_ask[];
    base bigint;
    now timestamptz;
    quick record;
    ask tenure.domain_ask;
    one record;
begin
    perform tenure.durably();
    asks := tenure.domain_lock(asked, false);
    now := tenure.clock();
    if advances then
        base := tenure.token_base();
    end if;
    with held as materialized (
        -- Each by its name: a join, where nothing is known of the table yet, would walk through all domains.
        select i.ord, i.holder, i.lease_ms, d.id, d.current_offset as done, d.ended_from, d.ended_to,
               coalesce(d.ended_to = d.current_offset - 1, false) as joins,
               w.seq, w.waiting_offset,
               coalesce(w.waiting_offset, i.next) as next
          from unnest(asks) with ordinality as i(name, next, token, holder, lease_ms, ord)
          cross join lateral (select * from tenure.domain d where d.name = i.name limit 1) d
          left join lateral (select w.seq, w.waiting_offset from tenure.domain_waiting w
                              where w.domain = d.id order by w.seq limit 1) w on d.backlog_len > 0
         where d.current_offset is not null and d.last_token = i.token
           and (d.expires_at is null or d.expires_at > now)
           and (d.ended_top is null
                or d.current_offset > d.ended_top
                   and (d.ended_to = d.ended_top or d.current_offset - 1 > d.ended_top))
           -- An offset that waits has not ended; one that is only named must be beyond what has.
           and (not advances or w.seq is not null or i.next is null or i.next > d.current_offset)
    ), moved as (
        insert into tenure.domain_range (domain, failed, from_offset, to_offset)
        select h.id, false, h.ended_from, h.ended_to from held h where h.ended_to is not null and not h.joins
    ), popped as (
        delete from tenure.domain_waiting w using held h
         where advances and w.domain = h.id and w.seq = h.seq
    ), cleared as (
        update tenure.domain d
           set ended_from = case when h.joins then d.ended_from else h.done end,
               ended_to = h.done, ended_top = h.done,
               ended_others = d.ended_others + case when h.ended_to is not null and not h.joins then 1 else 0 end,
               retry_count = 0, takeovers = 0, expiry_told = false,
               last_token = case when advances and h.next is not null then tenure.next_token(d.last_token, base)
                                 else d.last_token end,
               current_offset = case when advances then h.next end,
               acquired_at = case when advances and h.next is not null then now end,
               holder = case when advances and h.next is not null then h.holder end,
               lease_ms = case when advances and h.next is not null then h.lease_ms end,
               expires_at = case when advances and h.next is not null then tenure.later(now, h.lease_ms) end,
               backlog_len = d.backlog_len - case when advances and h.seq is not null then 1 else 0 end
          from held h
         where d.id = h.id
        returning h.ord, h.waiting_offset, h.next, d.last_token
    )
    select array_agg(c.ord) as ords, array_agg(c.waiting_offset) as hints, array_agg(c.next) as nexts,
           array_agg(c.last_token) as tokens
      into quick from cleared c;
    return query
        select q.ord, case when q.hint is null then 'NO_BACKLOG' else 'NEXT_HINT' end, q.hint,
               case when advances then q.next end, case when advances and q.next is not null then 'ACQUIRED' end,
               case when advances and q.next is not null then q.token end
          from unnest(quick.ords, quick.hints, quick.nexts, quick.tokens) as q(ord, hint, next, token);
    -- To look for what is left costs the square of the call, and mostly nothing is.
    if cardinality(quick.ords) = cardinality(asks) then
        return;
    end if;
    for ord in
        select i.ord from generate_subscripts(asks, 1) as i(ord)
         where quick.ords is null or i.ord <> all (quick.ords)
         order by i.ord
    loop
        ask := asks[ord];
        select o.* into one from tenure.domain_one('succeed', ask, null, now) o;
        word := one.word;
        hint := one.fact;
        next_offset := null;
        next_word := null;
        next_told := null;
        if advances and one.word in ('NO_BACKLOG', 'NEXT_HINT') then
            next_offset := coalesce(one.fact, ask.at_offset);
            if next_offset is not null then
                ask.at_offset := next_offset;
                select o.* into one from tenure.domain_one('acquire', ask, base, now) o;
                next_word := one.word;
                next_told := one.told;
            end if;
        end if;
        return next;
    end loop;
end $$;
