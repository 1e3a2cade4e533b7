-- queue/lately.sql: who looked for work in a queue lately, and whether for one kind. With a hundred kinds, which is all
-- that is kept, it may have been any (core's KINDS_KEPT).
-- Parameters  $1 the queue, $2 the kind, $3 how lately in milliseconds, $4 how many sightings at most, $5 kinds of each.
-- Indexes     sighting_queue.
select s.owner, s.kinds is null or $2 = any (s.kinds) or cardinality(s.kinds) >= 100 as takes, coalesce(s.kinds[1:$5], '{}') as kinds
  from tenure.sighting s
 where s.queue = $1 and s.seen_at > (select tenure.clock()) - $3 * interval '1 millisecond'
 order by s.seen_at desc, s.owner
 limit $4
