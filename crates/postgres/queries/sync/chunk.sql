-- sync/chunk.sql: one chunk of a sync, as of one instant.
-- Params $1 sync, $2 chunk_hash.
-- Reply  its columns.
-- Index  the primary keys.
with clock as materialized (select tenure.clock() as now)
select k.sync, k.matrix_id, k.chunk_hash, k.ord, k.payload, k.attempt, k.attempts_max, k.last_synced_at, k.row_count,
       k.cursor, k.token, k.claimed_at, k.locked_by, k.locked_until, k.lease_ms, k.told, k.beats, k.last_beat_at,
       k.longest_gap_ms, k.completed_at, k.failed_at, k.error_message, k.reason,
       tenure.sync_state(k.completed_at, k.failed_at, k.locked_until, c.now) as state
  from clock c, tenure.sync_job j join tenure.sync_chunk k on k.matrix_id = j.matrix_id and k.chunk_hash = $2
 where j.id = $1 and k.sync = $1
