-- sync/save_job.sql: what a claim, a heartbeat or an ending made of a sync.
-- Guard  its id and the token that was read.
-- Params ?1 id, ?2 the token that was read, then the columns.
-- Reply  nothing.
-- Index  the rowid.
UPDATE sync_job
   SET token = ?3, claimed_at = ?4, locked_by = ?5, locked_until = ?6, lease_ms = ?7, told = ?8, beats = ?9,
       last_beat_at = ?10, longest_gap_ms = ?11, completed_at = ?12, failed_at = ?13, error_message = ?14, reason = ?15,
       crashes = ?16
 WHERE id = ?1 AND token IS ?2;
