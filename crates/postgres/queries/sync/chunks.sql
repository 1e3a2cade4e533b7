-- sync/chunks.sql: chunks of a sync that match, in the order of the plan, as of one instant.
-- Params $1 sync, $2 after this place, $3 how many, $4 state or null.
-- Reply  their columns.
-- Index  sync_chunk_place.
with clock as materialized (select tenure.clock() as now)
select k.sync, k.matrix_id, k.chunk_hash, k.ord, k.payload, k.attempt, k.attempts_max, k.last_synced_at, k.row_count,
       k.cursor, k.token, k.claimed_at, k.locked_by, k.locked_until, k.lease_ms, k.told, k.beats, k.last_beat_at,
       k.longest_gap_ms, k.completed_at, k.failed_at, k.error_message, k.reason,
       tenure.sync_state(k.completed_at, k.failed_at, k.locked_until, c.now) as state
  from clock c, tenure.sync_chunk k
 where k.sync = $1 and k.ord > $2
   and ($4::text is null or tenure.sync_state(k.completed_at, k.failed_at, k.locked_until, c.now) = $4)
 order by k.ord limit $3
