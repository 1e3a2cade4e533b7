-- sync/jobs.sql: syncs that match, newest first, as of one instant.
-- Params $1 below this id, $2 how many, $3 matrix_id or null, $4 state or null.
-- Reply  their columns.
-- Index  the primary key, sync_job_matrix, sync_chunk_done.
with clock as materialized (select tenure.clock() as now)
select j.id, j.matrix_id, j.priority, j.created_at, j.skip_if_synced_within_ms, j.attempts_max,
       tenure.sync_crashes(j) as crashes, j.crashes_max,
       j.planned, j.token, j.claimed_at, j.locked_by, j.locked_until, j.lease_ms, j.told, j.beats, j.last_beat_at,
       j.longest_gap_ms, j.completed_at, j.failed_at, j.error_message, j.reason, j.done_available, j.done_completed,
       j.done_failed, j.done_skipped, j.done_rows, j.done_began_at, j.done_last_at,
       tenure.sync_state(j.completed_at, j.failed_at, j.locked_until, c.now) as state
  from clock c, tenure.sync_job j
 where j.id < $1 and ($3::text is null or j.matrix_id = $3)
   and ($4::text is null or tenure.sync_state(j.completed_at, j.failed_at, j.locked_until, c.now) = $4)
 order by j.id desc limit $2
