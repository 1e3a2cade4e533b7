-- queue/situation.sql: what bears on whether a waiting job can run, beside the job itself.
-- Parameters  $1 its queue, $2 its limit key, $3 its ordering key.
-- Indexes     queue_pkey, lease_expiry, tenant_pkey, lane_pkey, job_lane; nothing grows with the backlog.
select tenure.running_of(q.name) as running,
       e.max_running as engine_max,
       case when e.max_running is null then 0 else tenure.running_of(null) end as engine_running,
       coalesce((select t.running from tenure.tenant t where t.queue = $1 and t.key = $2), 0) as key_running,
       (select l.blocked_by from tenure.lane l where l.queue = $1 and l.key = $3) as blocked_by,
       coalesce((select l.running from tenure.lane l where l.queue = $1 and l.key = $3),
                (select j.id from tenure.job j where j.queue = $1 and j.ordering_key = $3 order by j.id limit 1)) as head,
       array(select distinct h.owner from (select l.owner from tenure.lease l where l.queue = $1 limit 100) h
              order by 1 limit 5) as holders
  from tenure.queue q, tenure.engine e
 where q.name = $1
