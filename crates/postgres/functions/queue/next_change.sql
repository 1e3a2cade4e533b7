-- When time alone may next make a queue claimable: a scheduled job is due, or a lease runs out.
create or replace function tenure.next_change(queues text[]) returns setof timestamptz
language sql stable as $$
    select (select min(j.run_at) from tenure.job j where j.queue = q.name and j.place = 2)
      from unnest(queues) as q(name)
    union all
    select (select min(l.expires_at) from tenure.lease l where l.queue = q.name and not l.stuck)
      from unnest(queues) as q(name)
$$;
