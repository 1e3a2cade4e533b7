-- sync/next_deadline.sql: when the next lease of a sync's chunks runs out.
-- Params ?1 sync.
-- Reply  the deadline, or no row.
-- Index  sync_chunk_locked, named: the planner would take sync_chunk_place for its order, and walk over all that is done.
SELECT locked_until FROM sync_chunk INDEXED BY sync_chunk_locked WHERE sync = ?1 AND locked_until IS NOT NULL ORDER BY locked_until LIMIT 1;
