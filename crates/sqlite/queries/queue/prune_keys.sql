-- queue/prune_keys.sql: dedup keys past their window are removed, unless their job has not ended.
-- In     1 now, 2 at most how many
-- Reply  nothing; as many rows as went
-- Index  dedup_age, job's key
DELETE FROM dedup
WHERE (queue, key) IN (SELECT queue, key FROM dedup
                       WHERE until <= ?1 AND NOT EXISTS (SELECT 1 FROM job WHERE job.id = dedup.job)
                       ORDER BY until LIMIT ?2)
