-- SYNC_DRAFT: the plan of a matrix that is under way.
-- Params ?1 matrix_id.
-- Reply  its id, when its last part was laid, whether it is being undone.
-- Index  the unique one.
SELECT id, at, given_up FROM tenure_sync_draft WHERE matrix_id = ?1;

-- SYNC_DRAFT_CLOSE: a draft has become a sync, or is undone.
-- Params ?1 id.
-- Reply  nothing.
-- Index  the rowid.
DELETE FROM tenure_sync_draft WHERE id = ?1;

-- SYNC_DRAFT_GIVE_UP: a draft is to be undone.
-- Params ?1 id.
-- Reply  nothing.
-- Index  the rowid.
UPDATE tenure_sync_draft SET given_up = 1 WHERE id = ?1;

-- SYNC_DRAFT_KEEP: a part of a draft is about to be laid, unless it was given up.
-- Params ?1 id, ?2 now.
-- Reply  nothing.
-- Index  the rowid.
UPDATE tenure_sync_draft SET at = ?2 WHERE id = ?1 AND given_up = 0;

-- SYNC_DRAFT_OPEN: a plan too large for one transaction begins.
-- Params ?1 id, ?2 matrix_id, ?3 now.
-- Reply  nothing.
-- Index  the rowid.
INSERT INTO tenure_sync_draft (id, matrix_id, at) VALUES (?1, ?2, ?3);

-- SYNC_DRAFT_STALE: drafts that nobody goes on with.
-- Params ?1 last part laid before.
-- Reply  their ids.
-- Index  none: drafts are few.
SELECT id FROM tenure_sync_draft WHERE given_up = 1 OR at <= ?1;

-- SYNC_FORGET: removes a sync of which nothing is left.
-- Params ?1 id.
-- Reply  nothing.
-- Index  the rowid, tenure_sync_chunk_place, tenure_sync_event_sync.
DELETE FROM tenure_sync_job WHERE id = ?1
   AND NOT EXISTS (SELECT 1 FROM tenure_sync_chunk WHERE sync = ?1) AND NOT EXISTS (SELECT 1 FROM tenure_sync_event WHERE sync = ?1);

-- SYNC_FORGET_CHUNKS: removes chunks that no later pass took over.
-- Params ?1 sync, ?2 how many.
-- Reply  nothing.
-- Index  tenure_sync_chunk_place.
DELETE FROM tenure_sync_chunk WHERE rowid IN (SELECT rowid FROM tenure_sync_chunk WHERE sync = ?1 LIMIT ?2);

-- SYNC_GIVEN_BACK: forgets what was kept of chunks that a draft has given back, the first by hash.
-- Params ?1 draft, ?2 how many.
-- Reply  nothing.
-- Index  the primary key.
DELETE FROM tenure_sync_taken WHERE draft = ?1
   AND chunk_hash IN (SELECT chunk_hash FROM tenure_sync_taken WHERE draft = ?1 ORDER BY chunk_hash LIMIT ?2);

-- SYNC_GIVE_BACK: gives chunks back as they were before a draft, the first by hash; not to a sync that is gone.
-- Params ?1 draft, ?2 how many.
-- Reply  nothing.
-- Index  the primary keys.
UPDATE tenure_sync_chunk
   SET sync = t.sync, ord = t.ord, attempt = t.attempt, attempts_max = t.attempts_max, claimed_at = t.claimed_at,
       completed_at = t.completed_at, failed_at = t.failed_at, error_message = t.error_message, reason = t.reason,
       payload = t.payload
  FROM (SELECT * FROM tenure_sync_taken WHERE draft = ?1 ORDER BY chunk_hash LIMIT ?2) t
 WHERE tenure_sync_chunk.matrix_id = (SELECT matrix_id FROM tenure_sync_draft WHERE id = ?1)
   AND tenure_sync_chunk.chunk_hash = t.chunk_hash AND EXISTS (SELECT 1 FROM tenure_sync_job WHERE id = t.sync);

-- SYNC_LAY: puts a chunk at the end of a plan. One of an earlier pass is taken over: token, last sync, rows and cursor stay (S4).
-- Params ?1 matrix_id, ?2 chunk_hash, ?3 sync, ?4 ord, ?5 attempts_max, ?6 payload, ?7 now, ?8 chunks synced after this are skipped, or null.
-- Reply  whether it counts as done already; no row if it is in this plan.
-- Index  the primary key.
INSERT INTO tenure_sync_chunk (matrix_id, chunk_hash, sync, ord, attempts_max, payload) VALUES (?1, ?2, ?3, ?4, ?5, ?6)
ON CONFLICT (matrix_id, chunk_hash) DO UPDATE
   SET sync = excluded.sync, ord = excluded.ord, attempts_max = excluded.attempts_max, payload = excluded.payload,
       attempt = 0, claimed_at = NULL, locked_by = NULL, locked_until = NULL, lease_ms = NULL, told = 0, beats = 0,
       last_beat_at = NULL, longest_gap_ms = 0, failed_at = NULL, error_message = NULL, reason = NULL,
       completed_at = CASE WHEN last_synced_at > ?8 THEN ?7 END
 WHERE sync <> excluded.sync
RETURNING completed_at IS NOT NULL;

-- SYNC_PLAN: a new pass over a matrix.
-- Params ?1 matrix_id, ?2 priority, ?3 created_at, ?4 skip_if_synced_within_ms, ?5 attempts_max, ?6 crashes_max, ?7 id or null.
-- Reply  its id.
-- Index  the rowid.
INSERT INTO tenure_sync_job (id, matrix_id, priority, created_at, skip_if_synced_within_ms, attempts_max, crashes_max)
VALUES (?7, ?1, ?2, ?3, ?4, ?5, ?6) RETURNING id;

-- SYNC_PLANNED: how many chunks a sync has.
-- Params ?1 id, ?2 planned.
-- Reply  nothing.
-- Index  the rowid.
UPDATE tenure_sync_job SET planned = ?2 WHERE id = ?1;

-- SYNC_PRUNE_TAKEN: forgets what was kept for drafts that have become syncs.
-- Params ?1 how many.
-- Reply  nothing.
-- Index  the primary key.
DELETE FROM tenure_sync_taken WHERE (draft, chunk_hash) IN
    (SELECT draft, chunk_hash FROM tenure_sync_taken WHERE draft NOT IN (SELECT id FROM tenure_sync_draft) LIMIT ?1);

-- SYNC_TAKE: keeps what a draft is about to change of a chunk of an earlier pass, once however often the plan names it.
-- Params ?1 matrix_id, ?2 chunk_hash, ?3 draft.
-- Reply  nothing.
-- Index  the primary key.
INSERT OR IGNORE INTO tenure_sync_taken (draft, chunk_hash, sync, ord, attempt, attempts_max, claimed_at, completed_at, failed_at,
                                  error_message, reason, payload)
SELECT ?3, chunk_hash, sync, ord, attempt, attempts_max, claimed_at, completed_at, failed_at, error_message, reason, payload
  FROM tenure_sync_chunk WHERE matrix_id = ?1 AND chunk_hash = ?2 AND sync <> ?3;

-- SYNC_UNFINISHED: the sync of a matrix that has not ended (S6).
-- Params ?1 matrix_id.
-- Reply  its id, or no row.
-- Index  tenure_sync_job_unfinished.
SELECT id FROM tenure_sync_job WHERE matrix_id = ?1 AND completed_at IS NULL AND failed_at IS NULL;
