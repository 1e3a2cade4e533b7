-- pipeline/apply.sql: puts a version of a pipeline on record, unless it is there.
-- Parameters  $1 name, $2 version, $3 definition, $4 stages, $5 who does it
-- Reply       one row if it was new
-- Index       pipeline's key
with made as (
    insert into tenure.pipeline (name, version, definition, created_at) values ($1, $2, $3, tenure.clock())
    on conflict do nothing returning 1
), stages as (
    insert into tenure.pipeline_stage (pipeline, stage) select $1, s from unnest($4::text[]) as s, made
    on conflict do nothing
)
, noted as (
    select tenure.note_changes('pipeline', $1, 'created', array['version'], null, array[$2::text], $5, tenure.clock())
      from made
)
select 1 as made from made, noted
