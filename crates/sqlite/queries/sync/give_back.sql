-- sync/give_back.sql: gives chunks back as they were before a draft, the first by hash; not to a sync that is gone.
-- Params ?1 draft, ?2 how many.
-- Reply  nothing.
-- Index  the primary keys.
UPDATE sync_chunk
   SET sync = t.sync, ord = t.ord, attempt = t.attempt, attempts_max = t.attempts_max, claimed_at = t.claimed_at,
       completed_at = t.completed_at, failed_at = t.failed_at, error_message = t.error_message, reason = t.reason,
       payload = t.payload
  FROM (SELECT * FROM sync_taken WHERE draft = ?1 ORDER BY chunk_hash LIMIT ?2) t
 WHERE sync_chunk.matrix_id = (SELECT matrix_id FROM sync_draft WHERE id = ?1)
   AND sync_chunk.chunk_hash = t.chunk_hash AND EXISTS (SELECT 1 FROM sync_job WHERE id = t.sync);
