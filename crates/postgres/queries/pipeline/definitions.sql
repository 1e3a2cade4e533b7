-- pipeline/definitions.sql: the highest version of each pipeline.
-- Parameters  $1 from after which name, or null, $2 how many
-- Reply       rows by name
-- Index       pipeline's key
select distinct on (p.name) p.name, p.version, p.definition, p.created_at from tenure.pipeline p
 where $1::text is null or p.name > $1 order by p.name, p.version desc limit $2
