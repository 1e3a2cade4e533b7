-- Acquires offsets (D1), each domain answered on its own.
-- Parameters  one array element for each acquire, no name twice.
-- Order       domains that are missing, the rows by name, and only then the clock and the token (L2, L5, L10).
-- Quick way   nothing in flight, nothing waiting, beyond everything that ended: one update of all such rows.
create or replace function tenure.domain_acquire(
    names text[], offsets bigint[], holders text[], lease_mss bigint[]
) returns table (ord bigint, word text, told bigint, fact bigint) language plpgsql
  security definer set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
#variable_conflict use_column
declare
    base bigint;
    now timestamptz;
    quick bigint[];
    quick_tokens bigint[];
begin
    perform tenure.durably();
    perform tenure.domain_make(names);
    names := tenure.domain_lock(names);
    now := tenure.clock();
    base := tenure.token_base();
    with free as materialized (
        -- Each by its name: a join, where nothing is known of the table yet, would walk through all domains.
        select i.*, f.id
          from unnest(names, offsets, holders, lease_mss) with ordinality
               as i(name, at_offset, holder, lease_ms, ord),
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
    if coalesce(cardinality(quick), 0) < cardinality(names) then
        return query
            select i.ord, o.word, o.told, o.fact
              from unnest(names, offsets, holders, lease_mss) with ordinality
                   as i(name, at_offset, holder, lease_ms, ord),
                   tenure.domain_one('acquire', i.name, i.at_offset, null, i.holder, i.lease_ms, base, now) o
             where quick is null or i.ord <> all (quick);
    end if;
end $$;
