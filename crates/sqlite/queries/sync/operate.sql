-- SYNC_CHUNK_ASIDE: recovery could not read this chunk; it is left for a person, and not met again.
-- Params ?1 matrix_id, ?2 chunk_hash.
-- Reply  nothing.
-- Index  the primary key.
UPDATE tenure_sync_chunk SET told = 1 WHERE matrix_id = ?1 AND chunk_hash = ?2;

-- SYNC_DONE: how far a sync had come when it ended.
-- Params ?1 id, then the figures.
-- Reply  nothing.
-- Index  the rowid.
UPDATE tenure_sync_job
   SET done_available = ?2, done_completed = ?3, done_failed = ?4, done_skipped = ?5, done_rows = ?6, done_began_at = ?7,
       done_last_at = ?8
 WHERE id = ?1;

-- SYNC_FORGET_EVENTS: removes events of a sync.
-- Params ?1 sync, ?2 how many.
-- Reply  nothing.
-- Index  tenure_sync_event_sync.
DELETE FROM tenure_sync_event WHERE id IN (SELECT id FROM tenure_sync_event WHERE sync = ?1 LIMIT ?2);

-- SYNC_JOB_ASIDE: recovery could not read this sync; it is left for a person, and not met again.
-- Params ?1 id.
-- Reply  nothing.
-- Index  the rowid.
UPDATE tenure_sync_job SET told = 1 WHERE id = ?1;

-- SYNC_LAST_DONE: when a chunk of a sync was last done (L6).
-- Params ?1 id.
-- Reply  the time, null if none was.
-- Index  the rowid.
SELECT last_done_at FROM tenure_sync_job WHERE id = ?1;

-- SYNC_LOCKED_CHUNKS: chunks of a sync that are under a lease, in the order of the plan.
-- Params ?1 sync.
-- Reply  their hashes.
-- Index  tenure_sync_chunk_locked, named: the planner would take tenure_sync_chunk_place for its order, and walk over all that is done.
SELECT chunk_hash FROM tenure_sync_chunk INDEXED BY tenure_sync_chunk_locked WHERE sync = ?1 AND locked_until IS NOT NULL ORDER BY ord;

-- SYNC_PAST: ended syncs past their retention, which a later pass of their matrix followed (I19).
-- Params ?1 ended before, ?2 how many.
-- Reply  their ids.
-- Index  tenure_sync_job_ended.
SELECT id FROM tenure_sync_job j
 WHERE (completed_at IS NOT NULL OR failed_at IS NOT NULL) AND coalesce(completed_at, failed_at) <= ?1
   AND EXISTS (SELECT 1 FROM tenure_sync_job l WHERE l.matrix_id = j.matrix_id AND l.id > j.id)
LIMIT ?2;

-- SYNC_PRUNE_RECEIPTS: removes receipts past their hour.
-- Params ?1 ended before, ?2 how many.
-- Reply  nothing.
-- Index  tenure_sync_receipt_age.
DELETE FROM tenure_sync_receipt WHERE (sync, chunk_hash, token) IN
    (SELECT sync, chunk_hash, token FROM tenure_sync_receipt WHERE at <= ?1 LIMIT ?2);

-- SYNC_UNTOLD_CHUNKS: chunks whose lease ran out and was not written down yet, oldest deadline first (L7).
-- Params ?1 now, ?2 how many.
-- Reply  matrix and hash.
-- Index  tenure_sync_chunk_untold.
SELECT matrix_id, chunk_hash FROM tenure_sync_chunk WHERE locked_until IS NOT NULL AND told = 0 AND locked_until <= ?1
ORDER BY locked_until, sync, ord LIMIT ?2;

-- SYNC_UNTOLD_JOBS: syncs whose lease ran out and was not written down yet, oldest deadline first (L7).
-- Params ?1 now, ?2 how many.
-- Reply  their ids.
-- Index  tenure_sync_job_locked.
SELECT id FROM tenure_sync_job WHERE locked_until IS NOT NULL AND locked_until <= ?1 AND told = 0
ORDER BY locked_until, id LIMIT ?2;
