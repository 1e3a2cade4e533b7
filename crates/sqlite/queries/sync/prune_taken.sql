-- sync/prune_taken.sql: forgets what was kept for drafts that have become syncs.
-- Params ?1 how many.
-- Reply  nothing.
-- Index  the primary key.
DELETE FROM sync_taken WHERE (draft, chunk_hash) IN
    (SELECT draft, chunk_hash FROM sync_taken WHERE draft NOT IN (SELECT id FROM sync_draft) LIMIT ?1);
