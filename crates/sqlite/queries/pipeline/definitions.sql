-- pipeline/definitions.sql: the highest version of each pipeline.
-- Guard  none.
-- In     1 from after which name, or null, 2 how many
-- Reply  rows by name
-- Index  pipeline's key
SELECT p.name, p.version, p.definition, p.created_at FROM pipeline p
 WHERE (?1 IS NULL OR p.name > ?1)
   AND p.version = (SELECT max(o.version) FROM pipeline o WHERE o.name = p.name)
 ORDER BY p.name LIMIT ?2
