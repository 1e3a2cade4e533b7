-- grant_row/heartbeat.sql: renew leases, one row per grant however many jobs it covers.
-- Guard  token, owner and an unexpired lease.  Parameters  $1 owner  $2 tokens.
-- Reply  the number renewed.  Index  primary key; `expiring` moves.
WITH beat AS (
    UPDATE lease SET expires_at = clock_timestamp() + lease_ms * interval '1 millisecond'
    WHERE token = ANY ($2::bigint[]) AND owner = $1 AND expires_at > clock_timestamp()
    RETURNING 1
)
SELECT count(*) FROM beat
