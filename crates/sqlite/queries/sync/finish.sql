-- SYNC_PROGRESSED: a chunk was done: the sync is not what kills its workers (L6).
-- Params ?1 id, ?2 when.
-- Reply  nothing.
-- Index  the rowid.
UPDATE tenure_sync_job SET crashes = 0, last_done_at = ?2 WHERE id = ?1;

-- SYNC_REFUSED: counts a refusal into the one event of its token and reason (L8).
-- Params ?1 at, ?2 sync, ?3 chunk_hash, ?4 token, ?5 owner, ?6 verb, ?7 lost.
-- Reply  nothing.
-- Index  tenure_sync_event_refused.
INSERT INTO tenure_sync_event (at, sync, chunk_hash, what, token, owner, verb, lost)
VALUES (?1, ?2, ?3, 'refused', ?4, ?5, ?6, ?7)
ON CONFLICT (sync, chunk_hash, token, lost) WHERE what = 'refused' DO UPDATE
   SET first_at = coalesce(first_at, at), at = excluded.at, owner = excluded.owner, verb = excluded.verb, count = count + 1;
