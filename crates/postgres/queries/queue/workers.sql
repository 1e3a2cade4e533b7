-- queue/workers.sql: where workers were seen, those of some names in order, and what each holds.
-- Parameters  $1 only names after this, or null; $2 how many names at most; $3 sightings of each; $4 kinds of each;
--             $5 how many leases are counted.
-- Reply       a row for each sighting; `leases` is how many were counted, over all owners.
-- Indexes     sighting_pkey, by a seek for each name; leases are few, and no more than $5 are read.
with recursive worker (name, nth) as (
    select (select s.owner from tenure.sighting s where s.owner > coalesce($1, '') order by s.owner limit 1), 1
    union all
    select (select s.owner from tenure.sighting s where s.owner > w.name order by s.owner limit 1), w.nth + 1
      from worker w where w.name is not null and w.nth < $2
), held as materialized (
    select l.owner, sum(l.left_count - (select count(*) from tenure.slack k where k.token = l.token))::bigint as jobs,
           count(*) as leases
      from (select l.owner, l.token, l.left_count from tenure.lease l limit $5) l
     group by l.owner
)
select w.name as owner, s.queue, s.kinds, s.kinds_capped, s.first_seen_at, s.seen_at,
       coalesce(h.jobs, 0) as running, (select coalesce(sum(a.leases), 0)::bigint from held a) as leases
  from worker w
 cross join lateral (select s.queue, s.kinds[1:$4] as kinds, coalesce(cardinality(s.kinds) > $4, false) as kinds_capped,
                            s.first_seen_at, s.seen_at
                       from tenure.sighting s where s.owner = w.name order by s.queue, s.kinds_key limit $3) s
  left join held h on h.owner = w.name
