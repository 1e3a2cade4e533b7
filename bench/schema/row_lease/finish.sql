-- row_lease/finish.sql: complete held jobs, moving them to history.
-- Guard  id, owner, token and an unexpired lease, else `accepted` is false and nothing changed.
-- Parameters  $1 owner  $2 ids  $3 tokens.  Reply  (id, accepted) per input.  Index  primary key.
WITH f AS MATERIALIZED (
    SELECT * FROM unnest($2::bigint[], $3::bigint[]) AS f (id, token)
), gone AS (
    DELETE FROM job AS j USING f
    WHERE j.id = f.id AND j.token = f.token AND j.owner = $1 AND j.expires_at > clock_timestamp()
    RETURNING j.*
), kept AS (
    INSERT INTO history (id, token, created_at, claimed_at, finished_at, priority, attempt, queue, kind, status, owner, payload)
    SELECT id, token, created_at, claimed_at, clock_timestamp(), priority, attempt, queue, kind, 'completed', owner, payload
    FROM gone
)
SELECT f.id, g.id IS NOT NULL AS accepted FROM f LEFT JOIN gone AS g ON g.id = f.id
