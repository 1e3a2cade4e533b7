-- A slice of history as the verbs would have left it: $1 to $2 are the ids. A hundredth failed, five kinds.
insert into tenure.finished (id, token, created_at, run_at, claimed_at, finished_at, priority, attempt, attempts_max,
                             queue, kind, payload, status, owner, outcome, verb)
select n, n, t, t, t, t + interval '1 second', 0, 1, 5, 'busy', 'k' || n % 5, '{"n":1}', w.status, 'w', w.status, w.verb
  from generate_series($1::bigint, $2::bigint) n,
       lateral (select now() - (n % 500000) * interval '1 second' as t) at,
       lateral (select case when n % 100 = 0 then 'failed' else 'completed' end as status,
                       case when n % 100 = 0 then 'fail' else 'complete' end as verb) w
