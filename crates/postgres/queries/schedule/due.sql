-- schedule/due.sql: schedules that are due, the longest first, by one reading of the clock (T2).
-- Parameters  $1 how many at most.
-- Reply       at least one row: the clock, the first slot to come, and what a scheduler needs of each that is due; nulls
--             where none is.
-- Indexes     schedule_due.
with c as materialized (select tenure.clock() as now)
select c.now,
       (select s.next_at from tenure.schedule s
         where not s.paused and s.next_at is not null and s.next_at > c.now
         order by s.next_at, s.name limit 1) as next_of_all,
       d.name, d.revision, d.cron, d.zone, d.catch_up, d.next_at, d.payload_bytes
  from c
  left join lateral (
       select s.name, s.revision, s.cron, s.zone, s.catch_up, s.next_at, octet_length(s.payload)::bigint as payload_bytes
         from tenure.schedule s
        where not s.paused and s.next_at is not null and s.next_at <= c.now
        order by s.next_at, s.name limit $1) d on true
 order by d.next_at, d.name
