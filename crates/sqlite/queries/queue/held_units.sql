-- queue/held_units.sql: jobs that still run under a lease, in the order of its grant.
-- In     1 token
-- Reply  place in the grant from 0, id
-- Index  lease's key, job's key
SELECT unit.key, unit.value
FROM lease CROSS JOIN json_each(lease.units) AS unit CROSS JOIN job ON job.id = unit.value
WHERE lease.token = ?1 AND job.place = 2 AND job.token = ?1
ORDER BY unit.key
