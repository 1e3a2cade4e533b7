-- domain/events.sql: what happened to a domain, events in the order in which they were written, then refusals.
-- Parameters  $1 name
-- Reply       at most a hundred events, and as many rows for refusals, by token and code.
-- Indexes     domain_name_key, domain_event_pkey, domain_refusal_pkey
select e.seq, e.at, e.what, e.event_offset, e.token, e.holder, e.nth, null as verb, null as code, 1::bigint as count,
       null::timestamptz as first_at, e.by
  from tenure.domain d join tenure.domain_event e on e.domain = d.id
 where d.name = $1
union all
select null, r.at, 'refused', null, nullif(r.token, 0), null, null, r.verb, r.code, r.count, r.first_at, null
  from tenure.domain d join tenure.domain_refusal r on r.domain = d.id
 where d.name = $1
 order by 1 nulls last
