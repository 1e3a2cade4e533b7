-- load.sql: preload one queue with small jobs, alike in every candidate.
-- Guard  none.  Parameters  $1 how many.  Reply  none.
-- Jobs are a microsecond apart so that the order (priority DESC, created_at, id) is total and known.
INSERT INTO job (queue, kind, payload, created_at, run_at)
SELECT 'q', 'mail', '{"to":"user-' || lpad(i::text, 8, '0') || '@a.org","n":1}', base + i * interval '1 microsecond', base
FROM (SELECT clock_timestamp() - interval '1 hour' AS base) AS b, generate_series(1, $1::bigint) AS i
ORDER BY i
