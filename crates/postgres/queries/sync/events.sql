-- sync/events.sql: the latest events of a sync, newest first.
-- Params $1 sync, $2 how many.
-- Reply  their columns.
-- Index  sync_event_sync.
select e.at, e.sync, e.chunk_hash, e.what, e.token, e.owner, e.attempt, e.verb, e.lost, e.reason, e.error, e.count,
       e.first_at, e.by
  from tenure.sync_event e where e.sync = $1 order by e.id desc limit $2
