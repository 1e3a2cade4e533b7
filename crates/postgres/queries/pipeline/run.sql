-- pipeline/run.sql: one run.
-- Parameters  $1 id
-- Reply       one row or none
-- Index       run's key
select r.id, r.pipeline, r.version, r.input, r.status, r.paused, r.created_at, r.finished_at, r.key from tenure.run r where r.id = $1
