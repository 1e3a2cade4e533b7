-- sync/draft_give_up.sql: a draft is to be undone.
-- Params ?1 id.
-- Reply  nothing.
-- Index  the rowid.
UPDATE sync_draft SET given_up = 1 WHERE id = ?1;
