-- queue/next_due.sql: when time alone may change the answer of a claim: the next job is due, or the next lease runs out.
-- In     1 queues that a due job opens, 2 queues that a lease's end opens, both as JSON arrays
-- Reply  one row: the instant, or NULL
-- Index  job_scheduled, lease_queue_expires: the first entry of each queue
SELECT min(at)
FROM (SELECT (SELECT run_at FROM job WHERE queue = q.value AND place = 1 ORDER BY run_at LIMIT 1) AS at
      FROM json_each(?1) AS q
      UNION ALL
      SELECT (SELECT expires_at FROM lease WHERE queue = q.value AND stuck = 0 ORDER BY expires_at LIMIT 1)
      FROM json_each(?2) AS q)
