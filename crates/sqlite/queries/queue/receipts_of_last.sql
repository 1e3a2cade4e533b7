-- queue/receipts_of_last.sql: receipts of the claims that finished jobs ended with, before the jobs are removed.
-- In     1 ids as a JSON array, 2 an hour ago
-- Reply  nothing
-- Index  finished's key
INSERT OR REPLACE INTO receipt (job, token, owner, verb, status, cancelled, at)
SELECT f.id, f.token, f.owner, f.verb,
       CASE f.outcome
           WHEN 'completed' THEN 'completed' WHEN 'failed' THEN 'failed' WHEN 'cancelled' THEN 'failed'
           ELSE 'queued' END,
       f.outcome IS 'cancelled', f.finished_at
FROM json_each(?1) AS gone CROSS JOIN finished AS f ON f.id = gone.value
WHERE f.owner IS NOT NULL AND f.finished_at > ?2
