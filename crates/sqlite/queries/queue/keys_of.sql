-- queue/keys_of.sql: the tenants and lanes of some jobs.
-- In     1 ids as a JSON array
-- Reply  ordering_key, limit_key of those that have either
-- Index  job's key
SELECT ordering_key, limit_key FROM json_each(?1) AS wanted CROSS JOIN job ON job.id = wanted.value
WHERE ordering_key IS NOT NULL OR limit_key IS NOT NULL
