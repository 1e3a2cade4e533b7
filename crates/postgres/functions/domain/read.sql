-- Looking at domains, for whoever works and may read no table. It runs with the rights of its owner.

-- Domains by name, as anyone may see them.
-- Parameters  `only_this` one, or null; only names `after` this, or null; `n_max` at most; only those `in_state`, or null:
--             `expired`, the lease ran out; `blocked`, offsets wait and no live lease works on the one before them.
-- Indexes     domain_name_key; domain_leased and domain_backlogged where the planner knows the state, so each call has a plan
--             of its own; domain_waiting_pkey.
create or replace function tenure.list_domains(only_this text, after text, n_max bigint, in_state text) returns table (
    name text, created_at timestamptz, max_retries integer, takeovers_max integer, current_offset bigint, holder
    text, acquired_at timestamptz, retry_count integer, takeovers integer, lease_ms bigint, expires_at timestamptz,
    expired boolean, backlog_len bigint, head bigint, since timestamptz
) language plpgsql stable security definer set search_path = pg_catalog, pg_temp
  set plan_cache_mode = force_custom_plan as $$
#variable_conflict use_column
begin
    return query
        select d.name, d.created_at, d.max_retries, d.takeovers_max, d.current_offset, d.holder, d.acquired_at, d.retry_count,
               d.takeovers, d.lease_ms, d.expires_at, coalesce(d.expires_at <= tenure.clock(), false) as expired, d.backlog_len,
               w.waiting_offset as head, w.since
          from tenure.domain d
          left join lateral (select w.waiting_offset, w.since from tenure.domain_waiting w
                              where w.domain = d.id order by w.seq limit 1) w on d.backlog_len > 0
         where (only_this::text is null or d.name = only_this) and (list_domains.after::text is null or d.name > list_domains.after)
           and (in_state::text is null
                or in_state = 'expired' and d.expires_at is not null and d.expires_at <= tenure.clock()
                or in_state = 'blocked' and d.backlog_len > 0
                   and (d.current_offset is null or d.expires_at is not null and d.expires_at <= tenure.clock()))
         order by d.name
         limit n_max;
end $$;
