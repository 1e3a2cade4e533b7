-- Acquires offsets (D1), each domain answered on its own.
-- Parameters  `asked` as in `domain_lock`, no name twice: offset, holder and span.
-- Order       domains that are missing, the rows by name, and only then the clock and the token (L2, L5, L10).
-- Quick way   nothing in flight, nothing waiting, beyond everything that ended: one update of all such rows.
create or replace function tenure.domain_acquire(asked tenure.domain_ask[])
returns table (ord bigint, word text, told bigint, fact bigint) language plpgsql
  security definer set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
#variable_conflict use_column
declare
    asks tenure.domain_ask[];
    base bigint;
    now timestamptz;
    quick bigint[];
    quick_tokens bigint[];
begin
    perform tenure.durably();
    asks := tenure.domain_lock(asked, true);
    now := tenure.clock();
    base := tenure.token_base();
    with free as materialized (
        -- Each by its name: a join, where nothing is known of the table yet, would walk through all domains.
        select i.*, f.id
          from unnest(asks) with ordinality as i(name, at_offset, token, holder, lease_ms, ord),
               lateral (select d.id from tenure.domain d
                         where d.name = i.name and d.current_offset is null and d.backlog_len = 0
                           and (d.ended_top is null or i.at_offset > d.ended_top) limit 1) f
    ), granted as (
        update tenure.domain d
           set last_token = tenure.next_token(d.last_token, base), current_offset = f.at_offset, acquired_at = now,
               holder = f.holder, lease_ms = f.lease_ms, expires_at = tenure.later(now, f.lease_ms)
          from free f
         where d.id = f.id
        returning f.ord, d.last_token
    )
    select array_agg(g.ord), array_agg(g.last_token) into quick, quick_tokens from granted g;
    return query select q.ord, 'ACQUIRED', q.token, null::bigint from unnest(quick, quick_tokens) as q(ord, token);
    if coalesce(cardinality(quick), 0) < cardinality(asks) then
        return query
            select i.ord::bigint, o.word, o.told, o.fact
              from generate_subscripts(asks, 1) as i(ord), tenure.domain_one('acquire', asks[i.ord], base, now) o
             where quick is null or i.ord <> all (quick);
    end if;
end $$;
