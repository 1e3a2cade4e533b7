-- sync/done.sql: how far a sync had come when it ended.
-- Params ?1 id, then the figures.
-- Reply  nothing.
-- Index  the rowid.
UPDATE sync_job
   SET done_available = ?2, done_completed = ?3, done_failed = ?4, done_skipped = ?5, done_rows = ?6, done_began_at = ?7,
       done_last_at = ?8
 WHERE id = ?1;
