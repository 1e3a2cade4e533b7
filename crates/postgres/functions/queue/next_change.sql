-- When time alone may next make queues claimable: in one that is open a scheduled job is due, or a lease runs out. What
-- is past already was looked at, and changes nothing by itself.
create or replace function tenure.next_change(queues text[], open_queues text[]) returns setof timestamptz
language sql stable as $$
    select (select min(j.run_at) from tenure.job j
             where j.queue = q.name and j.place = 2 and j.run_at > tenure.clock())
      from unnest(open_queues) as q(name)
    union all
    select (select min(l.expires_at) from tenure.lease l
             where l.queue = q.name and l.stuck_until is null and l.expires_at > tenure.clock())
      from unnest(queues) as q(name)
$$;
