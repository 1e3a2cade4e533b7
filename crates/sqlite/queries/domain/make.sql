-- domain/make.sql: a domain is used for the first time.
-- Guard  the caller looked for it under the same write lock.
-- In     1 name, 2 now
-- Reply  one row: its number
-- Index  domain's unique name
INSERT INTO domain (name, created_at) VALUES (?1, ?2) RETURNING id
