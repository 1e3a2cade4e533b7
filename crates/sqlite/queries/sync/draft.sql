-- sync/draft.sql: the plan of a matrix that is under way.
-- Params ?1 matrix_id.
-- Reply  its id, when its last part was laid, whether it is being undone.
-- Index  the unique one.
SELECT id, at, given_up FROM sync_draft WHERE matrix_id = ?1;
