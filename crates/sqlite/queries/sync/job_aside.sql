-- sync/job_aside.sql: recovery could not read this sync; it is left for a person, and not met again.
-- Params ?1 id.
-- Reply  nothing.
-- Index  the rowid.
UPDATE sync_job SET told = 1 WHERE id = ?1;
