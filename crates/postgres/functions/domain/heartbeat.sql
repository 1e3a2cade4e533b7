-- Renews leases (D4), each domain answered on its own.
-- Parameters  `asked` as in `domain_lock`, no name twice: the token.
-- Guard       the token of the lease, and a lease that has not run out; the rows are locked before the clock is read.
-- Reply       when the lease runs out now, null if never; what was refused is told by `domain_one`.
create or replace function tenure.domain_heartbeat(asked tenure.domain_ask[])
returns table (ord bigint, word text, until timestamptz) language plpgsql
  security definer set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
#variable_conflict use_column
declare
    asks tenure.domain_ask[];
    now timestamptz;
    quick record;
begin
    perform tenure.durably();
    asks := tenure.domain_lock(asked, false);
    now := tenure.clock();
    with held as materialized (
        -- Each by its name: a join, where nothing is known of the table yet, would walk through all domains.
        select i.ord, h.id
          from unnest(asks) with ordinality as i(name, at_offset, token, holder, lease_ms, ord),
               lateral (select d.id from tenure.domain d
                         where d.name = i.name and d.current_offset is not null and d.last_token = i.token
                           and d.expires_at > now limit 1) h
    ), renewed as (
        update tenure.domain d set expires_at = greatest(d.expires_at, tenure.later(now, d.lease_ms))
          from held h
         where d.id = h.id
        returning h.ord, d.expires_at
    )
    select array_agg(r.ord) as ords, array_agg(r.expires_at) as untils into quick from renewed r;
    return query select q.ord, 'RENEWED', q.until from unnest(quick.ords, quick.untils) as q(ord, until);
    if coalesce(cardinality(quick.ords), 0) < cardinality(asks) then
        return query
            select i.ord::bigint, o.word, o.until
              from generate_subscripts(asks, 1) as i(ord), tenure.domain_one('heartbeat', asks[i.ord], null, now) o
             where quick.ords is null or i.ord <> all (quick.ords);
    end if;
end $$;
