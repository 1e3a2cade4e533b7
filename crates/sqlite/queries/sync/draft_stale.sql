-- sync/draft_stale.sql: drafts that nobody goes on with.
-- Params ?1 last part laid before.
-- Reply  their ids.
-- Index  none: drafts are few.
SELECT id FROM sync_draft WHERE given_up = 1 OR at <= ?1;
