-- store/schema_record.sql: a migration was applied.
-- In     1 version, 2 name, 3 applied_at
-- Reply  nothing
-- Index  tenure_schema's key
INSERT INTO tenure_schema (version, name, applied_at) VALUES (?1, ?2, ?3)
