-- SCHEMA: the last migration that was applied, or NULL.
-- Guard  the caller knows that the table is there.
-- In     nothing
-- Reply  one row
-- Index  tenure_schema's key
SELECT max(version) FROM tenure_schema

-- SCHEMA_CREATE: which migrations were applied. A table of its own, so that a file shared with an
-- application leaves `user_version` to it.
-- In     nothing
-- Reply  nothing
-- Index  none
CREATE TABLE IF NOT EXISTS tenure_schema (
    version    INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT

-- SCHEMA_EXISTS: whether any migration was ever applied here.
-- In     nothing
-- Reply  one row: 0 or 1
-- Index  none: sqlite_schema is small
SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'tenure_schema'

-- SCHEMA_RECORD: a migration was applied.
-- In     1 version, 2 name, 3 applied_at
-- Reply  nothing
-- Index  tenure_schema's key
INSERT INTO tenure_schema (version, name, applied_at) VALUES (?1, ?2, ?3)
