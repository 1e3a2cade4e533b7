-- ATTEMPTS: the ended claims kept with a job.
-- In     1 the job's `attempts`
-- Reply  one row each, oldest first
-- Index  none: it reads its argument
SELECT value ->> 'token', value ->> 'owner', value ->> 'claimed_at', value ->> 'ended_at', value ->> 'outcome',
       value ->> 'verb', value ->> 'error', value ->> 'beats', value ->> 'last_beat_at', value ->> 'longest_gap_ms'
FROM json_each(?1) ORDER BY key
