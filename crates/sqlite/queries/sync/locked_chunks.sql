-- sync/locked_chunks.sql: chunks of a sync that are under a lease, in the order of the plan.
-- Params ?1 sync.
-- Reply  their hashes.
-- Index  sync_chunk_locked, named: the planner would take sync_chunk_place for its order, and walk over all that is done.
SELECT chunk_hash FROM sync_chunk INDEXED BY sync_chunk_locked WHERE sync = ?1 AND locked_until IS NOT NULL ORDER BY ord;
