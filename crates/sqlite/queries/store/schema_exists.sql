-- store/schema_exists.sql: whether any migration was ever applied here.
-- In     nothing
-- Reply  one row: 0 or 1
-- Index  none: sqlite_schema is small
SELECT count(*) FROM sqlite_schema WHERE type = 'table' AND name = 'tenure_schema'
