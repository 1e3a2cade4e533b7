-- queue/list_running.sql: running jobs, newest first. Found by their leases: they are few, and the oldest of many.
-- Guard  a lease whose list cannot be read is passed over; recovery reports it.
-- In     1 below this id, 2 at most how many, 3 kind or NULL, 4 queue or NULL
-- Reply  id
-- Index  lease read whole, then job's key
SELECT job.id
FROM lease CROSS JOIN json_each(lease.units) AS unit CROSS JOIN job ON job.id = unit.value
WHERE json_valid(lease.units) AND (?4 IS NULL OR lease.queue = ?4) AND unit.value < ?1
  AND job.place = 2 AND job.token = lease.token AND (?3 IS NULL OR job.kind = ?3)
ORDER BY job.id DESC LIMIT ?2
