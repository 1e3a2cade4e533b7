-- queue/note.sql: what a heartbeat carries; what it does not carry stays.
-- In     1 job, 2 progress, 3 checkpoint
-- Reply  nothing
-- Index  note's key
INSERT INTO note (job, progress, checkpoint) VALUES (?1, ?2, ?3)
ON CONFLICT (job) DO UPDATE SET progress = coalesce(excluded.progress, progress),
                                checkpoint = coalesce(excluded.checkpoint, checkpoint)
