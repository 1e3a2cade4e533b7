-- store/schema.sql: the last migration that was applied, or NULL.
-- Guard  the caller knows that the table is there.
-- In     nothing
-- Reply  one row
-- Index  tenure_schema's key
SELECT max(version) FROM tenure_schema
