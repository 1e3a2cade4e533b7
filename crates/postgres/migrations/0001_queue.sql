-- 0001_queue: the work queue.
--
-- Written for the schema `tenure`; the migrator puts another name in its place where one was chosen.
--
-- job       what is queued or running. A finished job leaves this table in the statement that finishes it.
-- lease     one row for each grant: who may work on which jobs until when. Heartbeats touch only this table.
-- note      what a heartbeat left about a job: progress, and the checkpoint for the next attempt. Apart from `job`,
--           so that a transaction which has finished the job never blocks the heartbeat.
-- finished  history, written once.
-- event     abnormal transitions and operator actions (L8).
-- epoch     one row: which server drew the tokens (L2).

-- The one clock that judges leases (L5). Only the test harness replaces it.
create function tenure.clock() returns timestamptz language sql volatile as 'select clock_timestamp()';

create table tenure.epoch (
    only_row boolean primary key default true check (only_row),
    epoch integer not null check (epoch between 0 and 8191),
    system_identifier bigint not null,
    timeline text not null,
    -- A dump put back into the same server keeps both of the above, but not the identity of the tables.
    relation oid not null,
    -- Since when the three were known to be right: compared on each claim, for it costs nothing to ask.
    server_started_at timestamptz not null
);

-- The counters are never cached: a number drawn by one session ahead of time could be overtaken.
create sequence tenure.job_id as bigint;
create sequence tenure.grant_counter as bigint maxvalue 1099511627775;

create table tenure.queue (
    name text primary key,
    created_at timestamptz not null
);

create table tenure.job (
    id bigint primary key default nextval('tenure.job_id'),
    -- The token of its last claim; kept when it is put back (L2, Q5).
    token bigint,
    created_at timestamptz not null,
    run_at timestamptz not null,
    timeout_ms bigint,
    priority integer not null,
    attempt integer not null default 0,
    attempts_max integer not null,
    -- Where it waits: 0 fresh, 1 late (put back, or was scheduled), 2 scheduled. A claim leaves this as it is, so
    -- that claiming changes no indexed column.
    place smallint not null,
    running boolean not null default false,
    queue text not null,
    kind text not null,
    payload text not null,
    -- initial_ms, factor, max_ms, jitter.
    backoff double precision[],
    error text,
    -- Ended attempts, oldest first: also the receipts of L12.
    attempts jsonb
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);

-- The order of claims (Q2). Fresh jobs enter only at the end of their class, which is what lets a claimer keep its
-- place between claims; everything that comes back stands in the late index instead.
create index job_fresh on tenure.job (queue, priority desc, created_at, id) where place = 0;
create index job_late on tenure.job (queue, priority desc, created_at, id) where place = 1;
create index job_scheduled on tenure.job (queue, run_at) where place = 2;
-- Lists, counts and the oldest waiting job of a queue.
create index job_queue on tenure.job (queue, id);

create table tenure.lease (
    token bigint primary key,
    lease_ms bigint not null,
    granted_at timestamptz not null,
    expires_at timestamptz not null,
    last_beat_at timestamptz,
    longest_gap_ms bigint not null default 0,
    beats integer not null default 0,
    -- How many of `units`, from the first, were started (L6).
    started integer not null,
    -- How many are still running; may be too high, never too low.
    left_count integer not null,
    -- Recovery met an error on it and went on with the others (L7).
    stuck boolean not null default false,
    owner text not null,
    queue text not null,
    -- The jobs, in the order of the claim.
    units bigint[] not null
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
create index lease_expiry on tenure.lease (queue, expires_at) where not stuck;

create table tenure.note (
    job bigint primary key,
    progress text,
    checkpoint text
);

create table tenure.finished (
    id bigint primary key,
    token bigint not null,
    created_at timestamptz not null,
    run_at timestamptz not null,
    claimed_at timestamptz not null,
    finished_at timestamptz not null,
    last_beat_at timestamptz,
    longest_gap_ms bigint not null,
    timeout_ms bigint,
    beats integer not null,
    priority integer not null,
    attempt integer not null,
    attempts_max integer not null,
    queue text not null,
    kind text not null,
    payload text not null,
    status text not null check (status in ('completed', 'failed')),
    reason text,
    -- The last claim: who held it, how it ended, and by which verb of the holder's.
    owner text not null,
    outcome text not null,
    verb text,
    result text,
    error text,
    progress text,
    checkpoint text,
    backoff double precision[],
    -- Earlier attempts, oldest first.
    attempts jsonb
) with (autovacuum_vacuum_insert_scale_factor = 0.2);
create index finished_queue on tenure.finished (queue, status, id);

create table tenure.event (
    id bigint generated always as identity primary key,
    at timestamptz not null,
    job bigint not null,
    token bigint,
    until timestamptz,
    attempt integer,
    count integer not null default 1,
    what text not null,
    owner text,
    verb text,
    lost text,
    reason text,
    error text
);
create index event_job on tenure.event (job, id);
-- Repeated refusals for one reason are counted into one event.
create unique index event_refused on tenure.event (job, lost) where what = 'refused';

-- The queue in the words of its document (Q11).
create view tenure.work_queue as
    select j.id,
           case when j.running then 'running' else 'queued' end as status,
           j.priority, j.payload, j.run_at,
           l.owner as claimed_by, l.expires_at as lease_expires_at,
           j.created_at,
           l.granted_at as started_at,
           coalesce(l.granted_at,
                    timestamptz 'epoch' + (j.attempts -> -1 ->> 'ended_at')::bigint * interval '1 microsecond',
                    j.created_at) as updated_at
      from tenure.job j left join tenure.lease l on j.running and l.token = j.token
    union all
    select f.id, f.status, f.priority, f.payload, f.run_at,
           null, null, f.created_at, f.claimed_at, f.finished_at
      from tenure.finished f;
