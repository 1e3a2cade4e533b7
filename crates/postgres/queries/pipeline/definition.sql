-- pipeline/definition.sql: a version of a pipeline, the highest unless named.
-- Parameters  $1 name, $2 version or null
-- Reply       one row or none
-- Index       pipeline's key
select p.name, p.version, p.definition, p.created_at from tenure.pipeline p
 where p.name = $1 and ($2::integer is null or p.version = $2) order by p.version desc limit 1
