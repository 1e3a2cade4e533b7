-- sync/lapsed_chunk.sql: the first chunk of a sync whose lease ran out, in the order of the plan.
-- Params ?1 sync, ?2 how many to pass over, ?3 now.
-- Reply  its place and hash, or no row.
-- Index  sync_chunk_locked, named: the planner would take sync_chunk_place for its order, and walk over all that is done.
SELECT ord, chunk_hash FROM sync_chunk INDEXED BY sync_chunk_locked WHERE sync = ?1 AND locked_until IS NOT NULL AND locked_until <= ?3
ORDER BY ord LIMIT 1 OFFSET ?2;
