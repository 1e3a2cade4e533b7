-- sync/draft_close.sql: a draft has become a sync, or is undone.
-- Params ?1 id.
-- Reply  nothing.
-- Index  the rowid.
DELETE FROM sync_draft WHERE id = ?1;
