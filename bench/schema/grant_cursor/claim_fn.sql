-- grant_cursor/claim_fn.sql: the whole claim in one round trip; a null cursor is the look from the head.
-- Guard  epoch current; limit row locked in a statement of its own; expired leases returned and due jobs promoted first;
--        job rows locked, then token and clock read.
-- Each statement has its own snapshot, so the locked rows' ctids are safe to update by: no second index descent.
-- Parameters  queue, how many, owner, lease_ms, cursor (created_at, id), priority, exact W or not.
-- Reply  the jobs with their token.  Index  expiring, due, ready.
CREATE FUNCTION claim(
    p_queue text, p_n bigint, p_owner text, p_lease_ms bigint,
    p_at timestamptz, p_id bigint, p_priority integer, p_exact boolean
)
RETURNS TABLE (id bigint, token bigint, kind text, attempt integer, payload text, created_at timestamptz)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_n     bigint := p_n;
    v_max   bigint;
    v_epoch bigint;
    v_token bigint;
    v_now   timestamptz;
    v_ids   bigint[];
    v_tids  tid[];
BEGIN
    SELECT epoch INTO v_epoch FROM epoch WHERE timeline = left(pg_walfile_name(pg_current_wal_lsn()), 8);
    IF NOT FOUND THEN RAISE EXCEPTION 'epoch is not current'; END IF;
    IF p_exact THEN
        SELECT running_max INTO v_max FROM limits WHERE queue = p_queue FOR NO KEY UPDATE;
    END IF;

    v_now := clock_timestamp();
    IF EXISTS (SELECT FROM lease WHERE expires_at <= v_now) THEN
        WITH lost AS (DELETE FROM lease WHERE expires_at <= v_now RETURNING token, units)
        UPDATE job AS j SET token = NULL FROM lost AS l WHERE j.id = ANY (l.units) AND j.token = l.token;
    END IF;
    IF EXISTS (SELECT FROM job WHERE scheduled AND queue = p_queue AND run_at <= v_now) THEN
        UPDATE job SET scheduled = false WHERE scheduled AND queue = p_queue AND run_at <= v_now;
    END IF;
    IF p_exact THEN
        SELECT least(p_n, v_max - coalesce(sum(left_count), 0)) INTO v_n FROM lease WHERE queue = p_queue;
        IF v_n <= 0 THEN RETURN; END IF;
    END IF;

    IF p_at IS NULL THEN
        SELECT array_agg(id), array_agg(tid) INTO v_ids, v_tids FROM (
            SELECT id, ctid AS tid FROM job
            WHERE queue = p_queue AND token IS NULL AND NOT scheduled
            ORDER BY priority DESC, created_at, id LIMIT v_n
            FOR UPDATE SKIP LOCKED) AS pick;
    ELSE
        SELECT array_agg(id), array_agg(tid) INTO v_ids, v_tids FROM (
            SELECT id, ctid AS tid FROM job
            WHERE queue = p_queue AND token IS NULL AND NOT scheduled
              AND priority = p_priority AND (created_at, id) > (p_at, p_id)
            ORDER BY priority DESC, created_at, id LIMIT v_n
            FOR UPDATE SKIP LOCKED) AS pick;
    END IF;
    IF v_ids IS NULL THEN RETURN; END IF;

    v_token := (v_epoch << 40) + nextval('token');
    v_now := clock_timestamp();
    INSERT INTO lease (token, granted_at, expires_at, lease_ms, left_count, owner, queue, units)
    VALUES (v_token, v_now, v_now + p_lease_ms * interval '1 millisecond', p_lease_ms, cardinality(v_ids), p_owner, p_queue, v_ids);
    RETURN QUERY
    UPDATE job AS j SET token = v_token, attempt = j.attempt + 1
    WHERE j.ctid = ANY (v_tids)
    RETURNING j.id, j.token, j.kind, j.attempt, j.payload, j.created_at;
END $$
