-- domain/ended_put.sql: a range, new or longer than it was.
-- In     1 domain, 2 from, 3 to
-- Reply  nothing
-- Index  domain_ended's key
INSERT INTO domain_ended (domain, from_offset, to_offset) VALUES (?1, ?2, ?3)
ON CONFLICT (domain, from_offset) DO UPDATE SET to_offset = excluded.to_offset
