-- store/schema_create.sql: which migrations were applied. A table of its own, so that a file shared with an
-- application leaves `user_version` to it.
-- In     nothing
-- Reply  nothing
-- Index  none
CREATE TABLE IF NOT EXISTS tenure_schema (
    version    INTEGER PRIMARY KEY,
    name       TEXT NOT NULL,
    applied_at INTEGER NOT NULL
) STRICT
