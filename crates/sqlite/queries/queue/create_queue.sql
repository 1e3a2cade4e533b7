-- queue/create_queue.sql: a queue exists from its first job on.
-- In     1 name, 2 now
-- Reply  nothing
-- Index  queue's key
INSERT INTO queue (name, created_at) VALUES (?1, ?2) ON CONFLICT (name) DO NOTHING
