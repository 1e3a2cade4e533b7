-- sync/next_deadline.sql: when the next lease of a sync's chunks runs out.
-- Params ?1 sync.
-- Reply  the deadline, or no row.
-- Index  sync_chunk_locked.
SELECT locked_until FROM sync_chunk WHERE sync = ?1 AND locked_until IS NOT NULL ORDER BY locked_until LIMIT 1;
