-- row_lease/claim.sql: take the first ready jobs of a queue.
-- Guard  ready rows only, locked, others' locks skipped; token and clock are read after the lock.
-- Parameters  $1 queue  $2 how many  $3 owner  $4 lease_ms.
-- Reply  the jobs with their token.  Index  ready, then the primary key.
WITH pick AS MATERIALIZED (
    SELECT id FROM job
    WHERE queue = $1 AND token IS NULL AND NOT scheduled
    ORDER BY priority DESC, created_at, id LIMIT $2::bigint
    FOR UPDATE SKIP LOCKED
), drawn AS MATERIALIZED (
    SELECT array_agg(id) AS ids, nextval('token') AS token, clock_timestamp() AS at FROM pick HAVING count(*) > 0
)
UPDATE job AS j
SET token = d.token, owner = $3, claimed_at = d.at, expires_at = d.at + $4::bigint * interval '1 millisecond',
    attempt = j.attempt + 1
FROM drawn AS d
WHERE j.id = ANY (d.ids)
RETURNING j.id, j.token, j.kind, j.attempt, j.payload, j.created_at
