-- grant_hot/look.sql: claim.sql from the head of every class, past all running jobs.
-- Guard  as claim.sql; finding nothing here means `empty`.
-- Parameters  $1 queue  $2 how many  $3 owner  $4 lease_ms.
-- Reply  the jobs with their token.  Index  fresh from its head, late, then the primary key; no index is written.
WITH fresh AS MATERIALIZED (
    SELECT id, priority, created_at FROM job
    WHERE queue = $1 AND NOT scheduled AND NOT late AND token IS NULL
    ORDER BY priority DESC, created_at, id LIMIT $2::bigint
    FOR UPDATE SKIP LOCKED
), back AS MATERIALIZED (
    SELECT id, priority, created_at FROM job
    WHERE queue = $1 AND NOT scheduled AND late AND token IS NULL
    ORDER BY priority DESC, created_at, id LIMIT $2::bigint
    FOR UPDATE SKIP LOCKED
), pick AS MATERIALIZED (
    SELECT id FROM (SELECT * FROM back UNION ALL SELECT * FROM fresh) AS both_shelves
    ORDER BY priority DESC, created_at, id LIMIT $2::bigint
), granted AS (
    INSERT INTO lease (token, granted_at, expires_at, lease_ms, left_count, owner, queue, units)
    SELECT nextval('token'), d.at, d.at + $4::bigint * interval '1 millisecond', $4, d.n, $3, $1, d.ids
    FROM (SELECT array_agg(id) AS ids, count(*) AS n, clock_timestamp() AS at FROM pick HAVING count(*) > 0) AS d
    RETURNING token, units
)
UPDATE job AS j SET token = g.token, attempt = j.attempt + 1
FROM granted AS g
WHERE j.id = ANY (g.units)
RETURNING j.id, j.token, j.kind, j.attempt, j.payload, j.created_at
