-- A slice of what waits in the queue `busy`: $1 to $2 are the ids. A tenth is scheduled for tomorrow.
insert into tenure.job (id, created_at, run_at, priority, attempts_max, place, queue, kind, payload)
select n, now() - interval '1 hour', case when n % 10 = 0 then now() + interval '1 day' else now() end, 0, 5,
       case when n % 10 = 0 then 2 else 0 end, 'busy', 'k' || n % 5, '{"n":1}'
  from generate_series($1::bigint, $2::bigint) n
