-- sync/draft_keep.sql: a part of a draft is about to be laid, unless it was given up.
-- Params ?1 id, ?2 now.
-- Reply  nothing.
-- Index  the rowid.
UPDATE sync_draft SET at = ?2 WHERE id = ?1 AND given_up = 0;
