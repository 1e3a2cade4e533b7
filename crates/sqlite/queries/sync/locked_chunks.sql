-- sync/locked_chunks.sql: chunks of a sync that are under a lease, in the order of the plan.
-- Params ?1 sync.
-- Reply  their hashes.
-- Index  sync_chunk_locked.
SELECT chunk_hash FROM sync_chunk WHERE sync = ?1 AND locked_until IS NOT NULL ORDER BY ord;
