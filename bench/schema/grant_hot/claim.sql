-- grant_hot/claim.sql: grant jobs from the caller's cursor, merged with the few that came back late.
-- Guard  free rows only, locked, others' locks skipped; token and clock are read after the lock. Finding nothing proves
--        nothing: the caller takes look.sql before it says `empty`.
-- Parameters  $1 queue  $2 how many  $3 owner  $4 lease_ms  $5, $6 cursor (created_at, id)  $7 priority.
-- Reply  the jobs with their token.  Index  fresh from the cursor, late, then the primary key; no index is written.
WITH fresh AS MATERIALIZED (
    SELECT id, priority, created_at FROM job
    WHERE queue = $1 AND NOT scheduled AND NOT late AND token IS NULL
      AND priority = $7 AND (created_at, id) > ($5::timestamptz, $6::bigint)
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
