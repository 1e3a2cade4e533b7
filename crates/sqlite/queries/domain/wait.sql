-- domain/wait.sql: an offset waits at the tail.
-- Guard  one that waits already stays where it is.
-- In     1 domain, 2 seq, 3 offset, 4 since
-- Reply  nothing; no row changed where it waited already
-- Index  domain_waiting's key, domain_waiting_once
INSERT INTO domain_waiting (domain, seq, waiting_offset, since) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (domain, waiting_offset) DO NOTHING
