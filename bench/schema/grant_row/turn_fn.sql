-- grant_row/turn_fn.sql: finish the last grant and claim the next in one round trip and one commit.
-- Guard  those of finish and claim.  Parameters  those of claim without exact W, then ids and tokens to finish.
-- Reply  the claimed jobs; a row without a token is a finish that was refused.  Index  those of finish and claim.
CREATE FUNCTION turn(
    p_queue text, p_n bigint, p_owner text, p_lease_ms bigint,
    p_at timestamptz, p_id bigint, p_priority integer, p_ids bigint[], p_tokens bigint[]
)
RETURNS TABLE (id bigint, token bigint, kind text, attempt integer, payload text, created_at timestamptz)
LANGUAGE plpgsql AS $$
#variable_conflict use_column
BEGIN
    RETURN QUERY
    SELECT f.id, NULL::bigint, NULL::text, NULL::integer, NULL::text, NULL::timestamptz
    FROM finish(p_owner, p_ids, p_tokens) AS f WHERE NOT f.accepted;
    RETURN QUERY
    SELECT * FROM claim(p_queue, p_n, p_owner, p_lease_ms, p_at, p_id, p_priority, false);
END $$
