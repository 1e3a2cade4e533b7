-- queue/remember.sql: a key stands for a new job from now on.
-- In     1 queue, 2 key, 3 job, 4 until, 5 body
-- Reply  nothing
-- Index  dedup's key; writes dedup_age and dedup_job
INSERT INTO dedup (queue, key, job, until, body) VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (queue, key) DO UPDATE SET job = excluded.job, until = excluded.until, body = excluded.body, ended = NULL
