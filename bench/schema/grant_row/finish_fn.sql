-- grant_row/finish_fn.sql: complete held jobs in one round trip, grant by grant, moving them to history.
-- Guard  owner on the lease row, locked first; expiry by a clock read after that lock; id and token on the job row.
-- One grant's ids go to the primary key as one array: a fifth cheaper than joining (id, token) pairs, as finish.sql does, which
-- is the better way for a call with many grants of one job each.
-- Parameters  owner, ids, tokens.  Reply  (id, accepted) per input.  Index  primary keys.
CREATE FUNCTION finish(p_owner text, p_ids bigint[], p_tokens bigint[])
RETURNS TABLE (id bigint, accepted boolean)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_now   timestamptz;
    v_lease record;
    v_named bigint[];
    v_gone  bigint[];
    v_done  bigint[] := '{}';
BEGIN
    FOR v_lease IN
        SELECT token, granted_at, expires_at, left_count FROM lease
        WHERE token = ANY (p_tokens) AND owner = p_owner
        ORDER BY token FOR UPDATE
    LOOP
        v_now := clock_timestamp();
        CONTINUE WHEN v_lease.expires_at <= v_now;
        v_named := ARRAY(SELECT f.id FROM unnest(p_ids, p_tokens) AS f (id, token) WHERE f.token = v_lease.token);
        WITH gone AS (
            DELETE FROM job AS j WHERE j.id = ANY (v_named) AND j.token = v_lease.token RETURNING j.*
        ), kept AS (
            INSERT INTO history (id, token, created_at, claimed_at, finished_at, priority, attempt, queue, kind, status, owner, payload)
            SELECT id, token, created_at, v_lease.granted_at, v_now, priority, attempt, queue, kind, 'completed', p_owner, payload
            FROM gone
            RETURNING id
        )
        SELECT array_agg(id) INTO v_gone FROM kept;
        CONTINUE WHEN v_gone IS NULL;
        v_done := v_done || v_gone;
        IF cardinality(v_gone) >= v_lease.left_count THEN
            DELETE FROM lease WHERE token = v_lease.token;
        ELSE
            UPDATE lease SET left_count = left_count - cardinality(v_gone) WHERE token = v_lease.token;
        END IF;
    END LOOP;
    IF cardinality(v_done) = cardinality(p_ids) THEN
        RETURN QUERY SELECT unnest(p_ids), true;
    ELSE
        RETURN QUERY SELECT f, d IS NOT NULL FROM unnest(p_ids) AS f LEFT JOIN unnest(v_done) AS d ON d = f;
    END IF;
END $$
