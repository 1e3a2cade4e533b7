-- queue/held_back.sql: whether due jobs of a queue are held back by nothing but their tenant's limit.
-- When a claim found nothing, nearly every tenant with parked jobs is at its limit: the first one answers.
-- In     1 queue, 2 the limit, 3 kinds as a JSON array or NULL
-- Reply  one row: 0 or 1
-- Index  job_parked, by a seek for each tenant; tenant's key
WITH RECURSIVE parked (key) AS (
    SELECT (SELECT limit_key FROM job WHERE queue = ?1 AND place = 3 ORDER BY limit_key LIMIT 1)
    UNION ALL
    SELECT (SELECT limit_key FROM job WHERE queue = ?1 AND place = 3 AND limit_key > parked.key
            ORDER BY limit_key LIMIT 1)
    FROM parked WHERE parked.key IS NOT NULL
)
SELECT EXISTS (
    SELECT 1 FROM parked CROSS JOIN tenant ON tenant.queue = ?1 AND tenant.key = parked.key
    WHERE tenant.running >= ?2
      AND (?3 IS NULL
           OR EXISTS (SELECT 1 FROM json_each(?3) AS asked CROSS JOIN job
                      ON job.queue = ?1 AND job.limit_key = parked.key AND job.kind = asked.value AND job.place = 3)))
