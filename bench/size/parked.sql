-- A slice of what is parked behind the one tenant `big` of the queue `tenants`: $1 to $2 are the ids.
insert into tenure.job (id, created_at, run_at, priority, attempts_max, place, queue, kind, payload, limit_key)
select n, now() - interval '1 hour', now(), 0, 5, 3, 'tenants', 'k' || n % 5, '{"n":1}', 'big'
  from generate_series($1::bigint, $2::bigint) n
