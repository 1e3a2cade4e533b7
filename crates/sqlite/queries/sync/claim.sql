-- SYNC_LAPSED_CHUNK: the first chunk of a sync whose lease ran out, in the order of the plan.
-- Params ?1 sync, ?2 how many to pass over, ?3 now.
-- Reply  its place and hash, or no row.
-- Index  tenure_sync_chunk_locked, named: the planner would take tenure_sync_chunk_place for its order, and walk over all that is done.
SELECT ord, chunk_hash FROM tenure_sync_chunk INDEXED BY tenure_sync_chunk_locked WHERE sync = ?1 AND locked_until IS NOT NULL AND locked_until <= ?3
ORDER BY ord LIMIT 1 OFFSET ?2;

-- SYNC_LAPSED_JOB: the first sync whose lease ran out (S2). They are few: one for each matrix at most.
-- Params ?1 now, ?2 how many to pass over.
-- Reply  its id, or no row.
-- Index  tenure_sync_job_locked.
SELECT id FROM tenure_sync_job INDEXED BY tenure_sync_job_locked WHERE locked_until IS NOT NULL AND locked_until <= ?1
ORDER BY priority DESC, created_at, id LIMIT 1 OFFSET ?2;

-- SYNC_NEXT_DEADLINE: when the next lease of a sync's chunks runs out.
-- Params ?1 sync.
-- Reply  the deadline, or no row.
-- Index  tenure_sync_chunk_locked, named: the planner would take tenure_sync_chunk_place for its order, and walk over all that is done.
SELECT locked_until FROM tenure_sync_chunk INDEXED BY tenure_sync_chunk_locked WHERE sync = ?1 AND locked_until IS NOT NULL ORDER BY locked_until LIMIT 1;

-- SYNC_WAITING_CHUNK: the next chunk that waits, in the order of the plan (S3).
-- Params ?1 sync, ?2 how many to pass over.
-- Reply  its place and hash, or no row.
-- Index  tenure_sync_chunk_waiting, named: the planner would take tenure_sync_chunk_place for its order, and walk over all that is done.
SELECT ord, chunk_hash FROM tenure_sync_chunk INDEXED BY tenure_sync_chunk_waiting
 WHERE sync = ?1 AND completed_at IS NULL AND failed_at IS NULL AND locked_until IS NULL
ORDER BY ord LIMIT 1 OFFSET ?2;

-- SYNC_WAITING_JOB: the first sync that waits (S2).
-- Params ?1 how many to pass over.
-- Reply  its id, or no row.
-- Index  tenure_sync_job_waiting.
SELECT id FROM tenure_sync_job
 WHERE completed_at IS NULL AND failed_at IS NULL AND locked_until IS NULL
ORDER BY priority DESC, created_at, id LIMIT 1 OFFSET ?1;
