-- sync/waiting_chunk.sql: the next chunk that waits, in the order of the plan (S3).
-- Params ?1 sync, ?2 how many to pass over.
-- Reply  its place and hash, or no row.
-- Index  sync_chunk_waiting, named: the planner would take sync_chunk_place for its order, and walk over all that is done.
SELECT ord, chunk_hash FROM sync_chunk INDEXED BY sync_chunk_waiting
 WHERE sync = ?1 AND completed_at IS NULL AND failed_at IS NULL AND locked_until IS NULL
ORDER BY ord LIMIT 1 OFFSET ?2;
