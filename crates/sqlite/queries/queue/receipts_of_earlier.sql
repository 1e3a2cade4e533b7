-- queue/receipts_of_earlier.sql: receipts of the earlier claims of finished jobs that are being removed, within their
-- hour. A job that was cancelled while it waited has no later claim than these.
-- In     1 ids as a JSON array, 2 an hour ago
-- Reply  nothing
-- Index  finished's key
INSERT OR REPLACE INTO receipt (job, token, owner, verb, status, lost, at)
SELECT f.id, a.value ->> 'token', a.value ->> 'owner', a.value ->> 'verb',
       CASE a.value ->> 'outcome'
           WHEN 'completed' THEN 'completed' WHEN 'failed' THEN 'failed' WHEN 'cancelled' THEN 'failed'
           ELSE 'queued' END,
       CASE WHEN a.value ->> 'outcome' = 'cancelled' THEN 'cancelled'
            WHEN f.owner IS NULL AND a.key = json_array_length(f.attempts) - 1 THEN 'expired'
            ELSE 'superseded' END,
       a.value ->> 'ended_at'
FROM json_each(?1) AS gone CROSS JOIN finished AS f ON f.id = gone.value
     CROSS JOIN json_each(CASE WHEN json_valid(f.attempts) THEN f.attempts ELSE '[]' END) AS a
WHERE a.value ->> 'ended_at' > ?2
