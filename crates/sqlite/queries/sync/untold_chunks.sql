-- sync/untold_chunks.sql: chunks whose lease ran out and was not written down yet, oldest deadline first (L7).
-- Params ?1 now, ?2 how many.
-- Reply  matrix and hash.
-- Index  sync_chunk_untold.
SELECT matrix_id, chunk_hash FROM sync_chunk WHERE locked_until IS NOT NULL AND told = 0 AND locked_until <= ?1
ORDER BY locked_until, sync, ord LIMIT ?2;
