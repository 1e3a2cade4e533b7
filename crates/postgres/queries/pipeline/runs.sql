-- pipeline/runs.sql: runs that match, newest first.
-- Parameters  $1 pipeline or null, $2 status or null, $3 below which id, $4 how many
-- Reply       rows
-- Index       run_pipeline, run_status or run's key
select r.id, r.pipeline, r.version, r.input, r.status, r.paused, r.created_at, r.finished_at, r.key from tenure.run r
 where ($1::text is null or r.pipeline = $1) and ($2::text is null or r.status = $2) and r.id < $3
 order by r.id desc limit $4
