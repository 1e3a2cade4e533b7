-- domain/domains.sql: domains by name, as anyone may see them.
-- Parameters  $1 only this one, or null; $2 only names after this, or null; $3 how many at most; $4 only those in this
--             state, or null: `expired`, the lease ran out; `blocked`, offsets wait and no live lease works on the one
--             before them.
-- Indexes     domain_name_key; domain_leased and domain_backlogged where the planner knows the state; domain_waiting_pkey.
select d.name, d.created_at, d.max_retries, d.takeovers_max, d.current_offset, d.holder, d.acquired_at, d.retry_count,
       d.takeovers, d.lease_ms, d.expires_at, coalesce(d.expires_at <= tenure.clock(), false) as expired, d.backlog_len,
       w.waiting_offset as head, w.since
  from tenure.domain d
  left join lateral (select w.waiting_offset, w.since from tenure.domain_waiting w
                      where w.domain = d.id order by w.seq limit 1) w on d.backlog_len > 0
 where ($1::text is null or d.name = $1) and ($2::text is null or d.name > $2)
   and ($4::text is null
        or $4 = 'expired' and d.expires_at is not null and d.expires_at <= tenure.clock()
        or $4 = 'blocked' and d.backlog_len > 0
           and (d.current_offset is null or d.expires_at is not null and d.expires_at <= tenure.clock()))
 order by d.name
 limit $3
