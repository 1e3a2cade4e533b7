-- queue/asked_to_stop.sql: jobs under a lease that an operator asked to cancel, by id.
-- In     1 token
-- Reply  id
-- Index  lease's key, job's key
SELECT job.id
FROM lease CROSS JOIN json_each(lease.units) AS unit CROSS JOIN job ON job.id = unit.value
WHERE lease.token = ?1 AND job.place = 2 AND job.token = ?1 AND job.cancel_requested = 1
ORDER BY job.id
