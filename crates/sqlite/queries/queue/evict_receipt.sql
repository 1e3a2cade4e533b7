-- queue/evict_receipt.sql: the first ended claim of a job makes room for the next; within its hour a receipt of it
-- is kept (L12).
-- In     1 job, 2 an hour ago
-- Reply  nothing
-- Index  job's key
INSERT OR REPLACE INTO receipt (job, token, owner, verb, status, cancelled, at)
SELECT id, attempts ->> '$[0].token', attempts ->> '$[0].owner', attempts ->> '$[0].verb',
       CASE attempts ->> '$[0].outcome'
           WHEN 'completed' THEN 'completed' WHEN 'failed' THEN 'failed' WHEN 'cancelled' THEN 'failed'
           ELSE 'queued' END,
       attempts ->> '$[0].outcome' IS 'cancelled',
       attempts ->> '$[0].ended_at'
FROM job WHERE id = ?1 AND attempts ->> '$[0].ended_at' > ?2
