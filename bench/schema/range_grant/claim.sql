-- range_grant/claim.sql: move the queue's head past the next ids and grant the range.
-- Guard  the head row is locked, so claims of one queue are one after another; exact W is counted under its own lock.
-- Parameters  queue, how many, owner, lease_ms, exact W or not.  Reply  the jobs with their token.  Index  primary keys.
CREATE FUNCTION claim(p_queue text, p_n bigint, p_owner text, p_lease_ms bigint, p_exact boolean)
RETURNS TABLE (id bigint, token bigint, kind text, attempt integer, payload text, created_at timestamptz)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
DECLARE
    v_n     bigint := p_n;
    v_max   bigint;
    v_count bigint;
    v_token bigint;
    v_head  bigint;
    v_last  bigint;
    v_now   timestamptz;
BEGIN
    IF p_exact THEN
        SELECT running_max INTO v_max FROM limits WHERE queue = p_queue FOR NO KEY UPDATE;
        SELECT least(p_n, v_max - coalesce(sum(left_count), 0)) INTO v_n FROM lease WHERE queue = p_queue;
    END IF;
    SELECT id INTO v_head FROM head WHERE queue = p_queue FOR NO KEY UPDATE;
    v_token := nextval('token');
    v_now := clock_timestamp();
    RETURN QUERY
    SELECT id, v_token, kind, attempt + 1, payload, created_at FROM job WHERE id > v_head ORDER BY id LIMIT v_n;
    GET DIAGNOSTICS v_count = ROW_COUNT;
    IF v_count = 0 THEN RETURN; END IF;
    SELECT max(id) INTO v_last FROM (SELECT id FROM job WHERE id > v_head ORDER BY id LIMIT v_count) AS taken;
    UPDATE head SET id = v_last WHERE queue = p_queue;
    INSERT INTO lease (token, first_id, last_id, granted_at, expires_at, lease_ms, left_count, owner, queue)
    VALUES (v_token, v_head + 1, v_last, v_now, v_now + p_lease_ms * interval '1 millisecond', p_lease_ms, v_count, p_owner, p_queue);
END $$
