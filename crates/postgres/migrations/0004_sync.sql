-- 0004_sync: syncs and their chunks.
--
-- A chunk is one row for all passes, named by matrix and hash: a new pass takes it over, and its token, its last sync, its
-- row count and its cursor stay. No state is stored: it is read off completed_at, failed_at and locked_until at one
-- instant, here, in the views and everywhere else (S1).
-- Where a chunk_hash may be absent, '' is the sync itself.
--
-- sync_job      one pass over a matrix. Nothing of it is written when a chunk is done, so that a completion in its
--               caller's own transaction holds up no other chunk, no heartbeat and no recovery (L10).
-- sync_chunk    the chunks.
-- sync_receipt  ended claims, for the hour that L12 promises.
-- sync_event    what went otherwise than well (L8).

create sequence tenure.sync_id as bigint;

create table tenure.sync_job (
    id bigint primary key default nextval('tenure.sync_id'),
    created_at timestamptz not null,
    token bigint,
    claimed_at timestamptz,
    -- The lease; all or nothing. It stays after it ran out, until the next claim.
    locked_until timestamptz,
    last_beat_at timestamptz,
    completed_at timestamptz,
    failed_at timestamptz,
    lease_ms bigint,
    longest_gap_ms bigint not null default 0,
    skip_if_synced_within_ms bigint,
    -- Chunks planned so far.
    planned bigint not null default 0,
    priority integer not null,
    -- Attempts that each of its chunks may have.
    attempts_max integer not null check (attempts_max >= 1),
    crashes_max integer,
    -- Leases of it that ran out, counted after `crashes_since`, when a chunk had last been done: one that is done later
    -- makes them void (L6). Once it has ended, the count as it was then.
    crashes integer not null default 0,
    crashes_since timestamptz,
    beats integer not null default 0,
    -- Whether its running out has been written down (L7).
    told boolean not null default false,
    matrix_id text collate "C" not null,
    locked_by text,
    error_message text,
    reason text,
    -- How far it had come when it ended; later passes take its chunks over.
    done_available bigint, done_completed bigint, done_failed bigint, done_skipped bigint, done_rows bigint,
    done_began_at timestamptz, done_last_at timestamptz,
    check ((locked_until is null) = (locked_by is null)),
    check (completed_at is null or failed_at is null),
    check (locked_until is null or (completed_at is null and failed_at is null))
) with (fillfactor = 50);
-- Two runs of one sync never overlap (S6).
create unique index sync_job_unfinished on tenure.sync_job (matrix_id) where completed_at is null and failed_at is null;
-- The order of claims (S2), and what ran out.
create index sync_job_waiting on tenure.sync_job (priority desc, created_at, id)
    where completed_at is null and failed_at is null and locked_until is null;
create index sync_job_locked on tenure.sync_job (locked_until, id) where locked_until is not null;
create index sync_job_matrix on tenure.sync_job (matrix_id, id);
create index sync_job_ended on tenure.sync_job (coalesce(completed_at, failed_at))
    where completed_at is not null or failed_at is not null;

create table tenure.sync_chunk (
    -- The pass that planned it last, and its place in that plan.
    sync bigint not null,
    ord bigint not null,
    token bigint,
    claimed_at timestamptz,
    locked_until timestamptz,
    last_beat_at timestamptz,
    completed_at timestamptz,
    failed_at timestamptz,
    last_synced_at timestamptz,
    row_count bigint,
    lease_ms bigint,
    longest_gap_ms bigint not null default 0,
    attempt integer not null default 0,
    attempts_max integer not null,
    beats integer not null default 0,
    told boolean not null default false,
    matrix_id text collate "C" not null,
    chunk_hash text collate "C" not null,
    locked_by text,
    error_message text,
    reason text,
    cursor text,
    payload text not null,
    primary key (matrix_id, chunk_hash),
    check ((locked_until is null) = (locked_by is null)),
    check (completed_at is null or failed_at is null),
    check (locked_until is null or (completed_at is null and failed_at is null))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
-- Not unique, though it is: what a unique index holds is a key, and a new pass would have to wait for whoever shares the
-- row of a chunk (chunk_held). Places are given out under the lock of the sync.
create index sync_chunk_place on tenure.sync_chunk (sync, ord);
-- What was not claimed in this pass yet, in the order of the plan. Only its front is ever taken away, which is what lets a
-- claimer keep its place between claims; what comes back stands in the late index instead. Both are by `-ord`, which
-- sync_chunk_place does not give: a planner that could take that one for the order would, and walk over all that is done.
create index sync_chunk_fresh on tenure.sync_chunk (sync, (-ord) desc)
    where claimed_at is null and completed_at is null and failed_at is null;
create index sync_chunk_late on tenure.sync_chunk (sync, (-ord) desc)
    where claimed_at is not null and locked_until is null and completed_at is null and failed_at is null;
create index sync_chunk_locked on tenure.sync_chunk (sync, locked_until, ord) where locked_until is not null;
-- When a chunk was last done: whether crashes count (L6). What was skipped was never claimed.
create index sync_chunk_done on tenure.sync_chunk (sync, completed_at)
    where completed_at is not null and claimed_at is not null;
-- What recovery has not written down yet.
create index sync_chunk_untold on tenure.sync_chunk (locked_until, sync, ord)
    where locked_until is not null and not told;

create table tenure.sync_receipt (
    sync bigint not null,
    token bigint not null,
    at timestamptz not null,
    -- Without a verb the lease ran out, or was cancelled.
    cancelled boolean not null default false,
    chunk_hash text collate "C" not null,
    owner text not null,
    verb text,
    state text,
    -- By token first, for a writer in its own transaction does not name the pass.
    primary key (token, chunk_hash, sync)
);
create index sync_receipt_age on tenure.sync_receipt (at);

create table tenure.sync_event (
    id bigint generated always as identity primary key,
    at timestamptz not null,
    -- The first time, where repetitions were counted into one event.
    first_at timestamptz,
    sync bigint not null,
    token bigint,
    attempt integer,
    count integer not null default 1,
    chunk_hash text collate "C" not null,
    what text not null,
    owner text,
    -- Who acted, of an operator's act.
    by text,
    verb text,
    lost text,
    reason text,
    error text
);
create index sync_event_sync on tenure.sync_event (sync, id);
-- Repeated refusals of one token for one reason are counted into one event.
create unique index sync_event_refused on tenure.sync_event (sync, chunk_hash, token, lost) where what = 'refused';

-- Syncs and chunks in the words of their document (Q11), each statement as of one instant.
create view tenure.sync_jobs as
    with clock as materialized (select tenure.clock() as now)
    select j.id, j.matrix_id, j.priority,
           case when j.completed_at is not null then 'COMPLETED' when j.failed_at is not null then 'FAILED'
                when j.locked_until > c.now then 'RUNNING' when j.locked_until is not null then 'EXPIRED'
                else 'AVAILABLE' end as state,
           j.created_at, j.locked_until, j.locked_by, j.completed_at, j.failed_at, j.error_message
      from tenure.sync_job j cross join clock c;

create view tenure.sync_checkpoints as
    with clock as materialized (select tenure.clock() as now)
    select k.matrix_id, k.chunk_hash, k.sync as sync_job_id,
           case when k.completed_at is not null then 'COMPLETED' when k.failed_at is not null then 'FAILED'
                when k.locked_until > c.now then 'RUNNING' when k.locked_until is not null then 'EXPIRED'
                else 'AVAILABLE' end as state,
           k.locked_until, k.locked_by, k.completed_at, k.failed_at, k.error_message, k.last_synced_at, k.row_count,
           k.cursor
      from tenure.sync_chunk k cross join clock c;
