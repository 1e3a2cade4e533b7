-- row_lease/claim_exact.sql: claim.sql under an exact W, in one round trip.
-- Guard  the limit row is locked in a statement of its own, so the count that follows sees every earlier claim.
-- Parameters  as claim.sql.  Reply  as claim.sql.  Index  leased (count), ready.
CREATE FUNCTION claim_exact(p_queue text, p_n bigint, p_owner text, p_lease_ms bigint)
RETURNS TABLE (id bigint, token bigint, kind text, attempt integer, payload text, created_at timestamptz)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_max bigint;
    v_n   bigint;
BEGIN
    SELECT running_max INTO v_max FROM limits WHERE queue = p_queue FOR NO KEY UPDATE;
    SELECT least(p_n, v_max - count(*)) INTO v_n FROM job WHERE queue = p_queue AND token IS NOT NULL;
    RETURN QUERY
    WITH pick AS MATERIALIZED (
        SELECT id FROM job
        WHERE queue = p_queue AND token IS NULL AND NOT scheduled
        ORDER BY priority DESC, created_at, id LIMIT v_n
        FOR UPDATE SKIP LOCKED
    ), drawn AS MATERIALIZED (
        SELECT array_agg(id) AS ids, nextval('token') AS token, clock_timestamp() AS at FROM pick HAVING count(*) > 0
    )
    UPDATE job AS j
    SET token = d.token, owner = p_owner, claimed_at = d.at, expires_at = d.at + p_lease_ms * interval '1 millisecond',
        attempt = j.attempt + 1
    FROM drawn AS d
    WHERE j.id = ANY (d.ids)
    RETURNING j.id, j.token, j.kind, j.attempt, j.payload, j.created_at;
END $$
