-- grant_cursor/claim.sql: grant_row/claim.sql from the place in one priority class where the caller's last claim ended.
-- Guard  as grant_row/claim.sql. Finding nothing proves nothing: the caller takes the look from the head before it says `empty`.
-- Parameters  $1 queue  $2 how many  $3 owner  $4 lease_ms  $5, $6 cursor (created_at, id)  $7 priority.
-- Reply  the jobs with their token.  Index  ready from the cursor, then the primary key.
WITH pick AS MATERIALIZED (
    SELECT id FROM job
    WHERE queue = $1 AND token IS NULL AND NOT scheduled
      AND priority = $7 AND (created_at, id) > ($5::timestamptz, $6::bigint)
    ORDER BY priority DESC, created_at, id LIMIT $2::bigint
    FOR UPDATE SKIP LOCKED
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
