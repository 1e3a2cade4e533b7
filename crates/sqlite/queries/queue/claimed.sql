-- queue/claimed.sql: what a claimer needs to know of jobs, read before they are marked.
-- In     1 ids as a JSON array
-- Reply  one row each, in the order of the array
-- Index  job's key; note's key for jobs that were claimed before
SELECT job.id, queue, kind, payload, priority, attempt, attempts_max, created_at, run_at, timeout_ms,
       CASE WHEN token IS NOT NULL THEN (SELECT checkpoint FROM note WHERE note.job = job.id) END AS checkpoint,
       ordering_key, limit_key
FROM json_each(?1) AS wanted CROSS JOIN job ON job.id = wanted.value
