-- sync/plan.sql: a new pass over a matrix.
-- Params ?1 matrix_id, ?2 priority, ?3 created_at, ?4 skip_if_synced_within_ms, ?5 attempts_max, ?6 crashes_max, ?7 id or null.
-- Reply  its id.
-- Index  the rowid.
INSERT INTO sync_job (id, matrix_id, priority, created_at, skip_if_synced_within_ms, attempts_max, crashes_max)
VALUES (?7, ?1, ?2, ?3, ?4, ?5, ?6) RETURNING id;
