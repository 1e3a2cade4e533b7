-- When time alone may next make queues claimable. What cannot open a queue does not count, nor what is past: it was looked
-- at, and whoever waits for it would ask at once, and again at once.
-- Parameters  `open_queues` hand out what is due; `held_queues` may have a slot or a job when a lease runs out; `everywhere`
--             is that the engine has no slot free, so that the end of any lease counts, and nothing else.
create or replace function tenure.next_change(open_queues text[], held_queues text[], everywhere boolean)
returns setof timestamptz language sql stable as $$
    select (select min(j.run_at) from tenure.job j
             where j.queue = q.name and j.place = 2 and j.run_at > tenure.clock())
      from unnest(open_queues) as q(name) where not everywhere
    union all
    select (select min(l.expires_at) from tenure.lease l
             where l.queue = q.name and l.stuck_until is null and l.expires_at > tenure.clock())
      from unnest(held_queues) as q(name) where not everywhere
    union all
    select min(l.expires_at) from tenure.lease l
     where everywhere and l.stuck_until is null and l.expires_at > tenure.clock()
$$;
