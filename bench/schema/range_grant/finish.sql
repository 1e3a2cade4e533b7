-- range_grant/finish.sql: complete jobs of held ranges, moving them to history.
-- Guard  id inside the lease's range, token, owner and expiry on the lease row.
-- Parameters  $1 owner  $2 ids  $3 tokens.  Reply  (id, accepted) per input.  Index  primary keys.
WITH f AS MATERIALIZED (
    SELECT * FROM unnest($2::bigint[], $3::bigint[]) AS f (id, token)
), held AS MATERIALIZED (
    SELECT token, first_id, last_id, granted_at FROM lease
    WHERE token = ANY ($3) AND owner = $1 AND expires_at > clock_timestamp()
    FOR UPDATE
), gone AS (
    DELETE FROM job AS j USING f, held AS h
    WHERE j.id = f.id AND h.token = f.token AND j.id BETWEEN h.first_id AND h.last_id
    RETURNING j.*, h.token, h.granted_at
), kept AS (
    INSERT INTO history (id, token, created_at, claimed_at, finished_at, priority, attempt, queue, kind, status, owner, payload)
    SELECT id, token, created_at, granted_at, clock_timestamp(), priority, attempt + 1, queue, kind, 'completed', $1, payload
    FROM gone
), spent AS MATERIALIZED (
    SELECT token, count(*) AS n FROM gone GROUP BY token
), ended AS (
    DELETE FROM lease AS l USING spent AS s WHERE l.token = s.token AND l.left_count <= s.n
), fewer AS (
    UPDATE lease AS l SET left_count = l.left_count - s.n FROM spent AS s WHERE l.token = s.token AND l.left_count > s.n
)
SELECT f.id, g.id IS NOT NULL AS accepted FROM f LEFT JOIN gone AS g ON g.id = f.id
