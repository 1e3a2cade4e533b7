-- queue/receipts_of_earlier.sql: receipts of the earlier claims of finished jobs that are being removed, within their
-- hour.
-- In     1 ids as a JSON array, 2 an hour ago
-- Reply  nothing
-- Index  finished's key
INSERT OR REPLACE INTO receipt (job, token, owner, verb, status, cancelled, at)
SELECT f.id, a.value ->> 'token', a.value ->> 'owner', a.value ->> 'verb',
       CASE a.value ->> 'outcome'
           WHEN 'completed' THEN 'completed' WHEN 'failed' THEN 'failed' WHEN 'cancelled' THEN 'failed'
           ELSE 'queued' END,
       a.value ->> 'outcome' IS 'cancelled', a.value ->> 'ended_at'
FROM json_each(?1) AS gone CROSS JOIN finished AS f ON f.id = gone.value
     CROSS JOIN json_each(CASE WHEN json_valid(f.attempts) THEN f.attempts ELSE '[]' END) AS a
WHERE a.value ->> 'ended_at' > ?2
