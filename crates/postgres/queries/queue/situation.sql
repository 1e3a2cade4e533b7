-- queue/situation.sql: what bears on whether a waiting job can run, beside the job itself.
-- Parameters  $1 its queue, $2 its limit key, $3 its ordering key, $4 how many names at most.
-- Indexes     queue_pkey, lease_expiry, gate_pkey, touch_gate, job_lane, sighting_queue; nothing grows with the backlog,
--             and of those who hold jobs only a few are looked at. The limits of one row tell the planner what it does not
--             know of a table of one row and of a function: with thousands by thousands of rows it would compile the plan.
select tenure.running_of(q.name) as running,
       e.max_running as engine_max,
       case when e.max_running is null then 0 else tenure.running_of(null) end as engine_running,
       case when $2::text is null then 0 else tenure.tenant_running($1, $2) end as key_running,
       case when q.rate_spent >= q.rate_max and q.rate_period = tenure.micros(c.now) / 1000 / q.rate_period_ms
            then tenure.period_end(q.rate_period_ms, c.now) end as spent_until,
       case when t.rate_spent >= q.key_rate_max
                 and t.rate_period = tenure.micros(c.now) / 1000 / q.key_rate_period_ms
            then tenure.period_end(q.key_rate_period_ms, c.now) end as key_spent_until,
       l.blocked_by,
       coalesce(l.turn, case when $3::text is not null then tenure.head_of($1, $3) end) as head,
       array(select distinct h.owner collate "C" from (select l.owner from tenure.lease l where l.queue = $1 limit 1000) h
              order by 1 limit $4) as holders,
       array(select distinct h.owner collate "C" from (select l.owner from tenure.lease l limit 1000) h
              where e.max_running is not null order by 1 limit $4) as engine_holders,
       s.owner as last_owner, s.seen_at as last_seen_at
  from (select * from tenure.known_queues($1, null, 1) limit 1) q
 cross join (select e.max_running from tenure.engine e limit 1) e
 cross join (select tenure.clock() as now) c
  left join tenure.gate t on t.queue = q.name and not t.lane and t.key = $2
  left join lateral tenure.lane_turn($1, $3) l on $3::text is not null
  left join lateral (select s.owner, s.seen_at from tenure.sighting s
                      where s.queue = q.name order by s.seen_at desc, s.owner limit 1) s on true
