-- pipeline/definition.sql: a version of a pipeline, the highest unless named.
-- Guard  none.
-- In     1 name, 2 version or null
-- Reply  one row or none
-- Index  pipeline's key
SELECT name, version, definition, created_at FROM pipeline
 WHERE name = ?1 AND (?2 IS NULL OR version = ?2) ORDER BY version DESC LIMIT 1
