-- Looking at one sync, for whoever works and may read no table. It runs with the rights of its owner.

-- One sync and how far it has come, as of one instant.
-- Reply  its columns; the progress is null once it has ended, for then its own figures tell.
-- Index  the primary key, sync_chunk_place, sync_chunk_done.
create or replace function tenure.show_sync(of_sync bigint) returns table (
    id bigint, matrix_id text, priority integer, created_at timestamptz, skip_if_synced_within_ms bigint,
    attempts_max integer, crashes integer, crashes_max integer, planned bigint, token bigint, claimed_at
    timestamptz, locked_by text, locked_until timestamptz, lease_ms bigint, told boolean, beats integer,
    last_beat_at timestamptz, longest_gap_ms bigint, completed_at timestamptz, failed_at timestamptz, error_message
    text, reason text, done_available bigint, done_completed bigint, done_failed bigint, done_skipped bigint,
    done_rows bigint, done_began_at timestamptz, done_last_at timestamptz, state text, available bigint, running
    bigint, expired bigint, completed bigint, failed bigint, skipped bigint, row_sum bigint, began_at timestamptz,
    last_done_at timestamptz
) language sql stable security definer set search_path = pg_catalog, pg_temp as $$
    with clock as materialized (select tenure.clock() as now)
    select j.id, j.matrix_id, j.priority, j.created_at, j.skip_if_synced_within_ms, j.attempts_max,
           tenure.sync_crashes(j) as crashes, j.crashes_max,
           j.planned, j.token, j.claimed_at, j.locked_by, j.locked_until, j.lease_ms, j.told, j.beats, j.last_beat_at,
           j.longest_gap_ms, j.completed_at, j.failed_at, j.error_message, j.reason, j.done_available, j.done_completed,
           j.done_failed, j.done_skipped, j.done_rows, j.done_began_at, j.done_last_at,
           tenure.sync_state(j.completed_at, j.failed_at, j.locked_until, c.now) as state,
           p.available, p.running, p.expired, p.completed, p.failed, p.skipped, p.row_sum, p.began_at, p.last_done_at
      from clock c, tenure.sync_job j
      left join lateral (select * from tenure.sync_progress(j.id, (select now from clock))) p
             on j.completed_at is null and j.failed_at is null
     where j.id = of_sync
$$;
