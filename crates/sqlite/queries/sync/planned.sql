-- sync/planned.sql: how many chunks a sync has.
-- Params ?1 id, ?2 planned.
-- Reply  nothing.
-- Index  the rowid.
UPDATE sync_job SET planned = ?2 WHERE id = ?1;
