-- row_lease/heartbeat.sql: renew leases, one row per job.
-- Guard  id, owner, token and an unexpired lease.  Parameters  $1 owner  $2 ids  $3 tokens  $4 lease_ms.
-- Reply  the number renewed.  Index  primary key; `leased` moves.
WITH beat AS (
    UPDATE job AS j SET expires_at = clock_timestamp() + $4::bigint * interval '1 millisecond'
    FROM unnest($2::bigint[], $3::bigint[]) AS f (id, token)
    WHERE j.id = f.id AND j.token = f.token AND j.owner = $1 AND j.expires_at > clock_timestamp()
    RETURNING 1
)
SELECT count(*) FROM beat
