-- SYNC_CHUNKS: chunks of a sync that match, in the order of the plan.
-- Params ?1 sync, ?2 after this place, ?3 how many, ?4 state or null, ?5 now.
-- Reply  all their columns.
-- Index  tenure_sync_chunk_place.
SELECT * FROM tenure_sync_chunk_shown WHERE sync = ?1 AND ord > ?2 AND EXISTS (SELECT 1 FROM tenure_sync_job WHERE id = ?1)
  AND (?4 IS NULL OR ?4 = CASE WHEN completed_at IS NOT NULL THEN 'COMPLETED' WHEN failed_at IS NOT NULL THEN 'FAILED'
                       WHEN locked_until > ?5 THEN 'RUNNING' WHEN locked_until IS NOT NULL THEN 'EXPIRED'
                       ELSE 'AVAILABLE' END)
ORDER BY ord LIMIT ?3;

-- SYNC_EVENTS: the latest events of a sync, newest first.
-- Params ?1 sync, ?2 how many.
-- Reply  their columns.
-- Index  tenure_sync_event_sync.
SELECT at, chunk_hash, what, token, owner, attempt, verb, lost, reason, error, count, first_at, by
FROM tenure_sync_event WHERE sync = ?1 ORDER BY id DESC LIMIT ?2;

-- SYNC_JOBS: syncs that match, newest first.
-- Params ?1 below this id, ?2 how many, ?3 matrix_id or null, ?4 state or null, ?5 now.
-- Reply  all their columns.
-- Index  the rowid.
SELECT * FROM tenure_sync_job_shown WHERE id < ?1 AND (?3 IS NULL OR matrix_id = ?3)
  AND (?4 IS NULL OR ?4 = CASE WHEN completed_at IS NOT NULL THEN 'COMPLETED' WHEN failed_at IS NOT NULL THEN 'FAILED'
                       WHEN locked_until > ?5 THEN 'RUNNING' WHEN locked_until IS NOT NULL THEN 'EXPIRED'
                       ELSE 'AVAILABLE' END)
ORDER BY id DESC LIMIT ?2;

-- SYNC_JOBS_OF: syncs of one matrix, newest first.
-- Params ?1 below this id, ?2 how many, ?3 matrix_id, ?4 state or null, ?5 now.
-- Reply  all their columns.
-- Index  tenure_sync_job_matrix.
SELECT * FROM tenure_sync_job_shown WHERE matrix_id = ?3 AND id < ?1
  AND (?4 IS NULL OR ?4 = CASE WHEN completed_at IS NOT NULL THEN 'COMPLETED' WHEN failed_at IS NOT NULL THEN 'FAILED'
                       WHEN locked_until > ?5 THEN 'RUNNING' WHEN locked_until IS NOT NULL THEN 'EXPIRED'
                       ELSE 'AVAILABLE' END)
ORDER BY id DESC LIMIT ?2;

-- SYNC_PROGRESS: how far a sync has come, as of one instant.
-- Params ?1 sync, ?2 now.
-- Reply  counts by state, rows, first claim and last completion.
-- Index  tenure_sync_chunk_place.
SELECT count(*) FILTER (WHERE completed_at IS NULL AND failed_at IS NULL AND locked_until IS NULL),
       count(*) FILTER (WHERE locked_until > ?2),
       count(*) FILTER (WHERE locked_until <= ?2),
       count(completed_at), count(failed_at),
       count(*) FILTER (WHERE completed_at IS NOT NULL AND claimed_at IS NULL),
       CAST(min(total(row_count) FILTER (WHERE completed_at IS NOT NULL AND claimed_at IS NOT NULL), 9007199254740991)
            AS INTEGER),
       min(claimed_at), max(completed_at) FILTER (WHERE claimed_at IS NOT NULL)
FROM tenure_sync_chunk WHERE sync = ?1;
