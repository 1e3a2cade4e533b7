-- 0005_pipeline: runs made of stages, and the segments of stages that were split.
--
-- pipeline      versions of pipelines: the graph as core writes it.
-- run           one row for each run.
-- run_touched   runs in which something happened that the orchestrator has not looked at yet. Rows are only added and
--               removed, never shared: a row that was there before could be taken away before its news was committed.
-- unit          a stage or a segment: claimed, kept and ended alike. Its lease is part of its row, for it covers one
--               unit only.
-- unit_attempt  ended claims: history, and the receipts of L12. They outlive their units and go with their run.
-- unit_event    abnormal transitions and operator actions (L8).

create table tenure.pipeline (
    name text collate "C" not null,
    version integer not null check (version >= 1),
    definition text not null,
    created_at timestamptz not null,
    primary key (name, version)
);

-- The stages that some version of a pipeline has.
create table tenure.pipeline_stage (
    pipeline text collate "C" not null,
    stage text collate "C" not null,
    primary key (pipeline, stage)
);

-- Drawn one by one and never cached, as for jobs.
create sequence tenure.run_id as bigint;
create sequence tenure.unit_id as bigint;

create table tenure.run (
    id bigint primary key default nextval('tenure.run_id'),
    created_at timestamptz not null,
    finished_at timestamptz,
    version integer not null,
    paused boolean not null default false,
    pipeline text collate "C" not null,
    status text not null check (status in ('RUNNING', 'DONE', 'ERROR')),
    input text not null,
    key text collate "C",
    check ((finished_at is null) = (status = 'RUNNING'))
) with (fillfactor = 70);
-- Started once under a key, as long as the run is kept.
create unique index run_key on tenure.run (pipeline, key) where key is not null;
create index run_pipeline on tenure.run (pipeline, id);
create index run_status on tenure.run (status, id);
create index run_age on tenure.run (finished_at) where finished_at is not null;

create table tenure.run_touched (
    id bigint generated always as identity primary key,
    run bigint not null
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
create index run_touched_run on tenure.run_touched (run, id);

create table tenure.unit (
    id bigint primary key default nextval('tenure.unit_id'),
    run bigint not null,
    token bigint,
    -- The lease, while it is RUNNING.
    granted_ms bigint not null default 0,
    granted_at timestamptz,
    expires_at timestamptz,
    last_beat_at timestamptz,
    longest_gap_ms bigint not null default 0,
    retry_at timestamptz,
    changed_at timestamptz not null,
    lease_ms bigint not null,
    beats integer not null default 0,
    priority integer not null,
    attempt integer not null default 0,
    attempts_max integer not null,
    segmented boolean not null,
    split boolean not null default false,
    -- Whether it may be handed out while it is READY: the run is not paused, its stage has not failed for good.
    open boolean not null default false,
    status text not null check (status in ('NEW', 'READY', 'RUNNING', 'DONE', 'ERROR')),
    -- Finally ERROR.
    reason text,
    owner text,
    pipeline text collate "C" not null,
    stage text collate "C" not null,
    -- Empty is the stage itself.
    segment text collate "C" not null,
    needs text[] not null default '{}',
    backoff double precision[],
    input text,
    output text,
    error text,
    progress text,
    -- What was recorded of its outputs, as core writes it, and under which claim.
    record text,
    record_token bigint,
    unique (run, stage, segment),
    check ((expires_at is not null) = (status = 'RUNNING')),
    check (status = 'ERROR' or (reason is null and retry_at is null))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
create index unit_ready on tenure.unit (pipeline, stage, priority desc, id) where status = 'READY' and open;
create index unit_expires on tenure.unit (expires_at, token) where status = 'RUNNING';
create index unit_retry on tenure.unit (retry_at, id) where retry_at is not null;
create index unit_stages on tenure.unit (run, id) where segment = '';
create index unit_segments on tenure.unit (run, stage, id) where segment <> '';
-- Segments that are not DONE: whether there is one is asked for every join.
create index unit_undone on tenure.unit (run, stage) where segment <> '' and status <> 'DONE';

create table tenure.unit_attempt (
    run bigint not null,
    token bigint not null,
    claimed_at timestamptz not null,
    ended_at timestamptz not null,
    last_beat_at timestamptz,
    longest_gap_ms bigint not null,
    beats integer not null,
    stage text collate "C" not null,
    segment text collate "C" not null,
    owner text not null,
    outcome text not null,
    verb text,
    status text not null,
    error text,
    primary key (run, token)
);

create table tenure.unit_event (
    id bigint generated always as identity primary key,
    run bigint not null,
    at timestamptz not null,
    -- Where repetitions were counted: when it first happened.
    first_at timestamptz,
    token bigint,
    until timestamptz,
    attempt integer,
    count integer not null default 1,
    -- Empty is the run itself.
    stage text collate "C" not null,
    segment text collate "C" not null,
    what text not null,
    owner text,
    -- Who acted, of an operator's act.
    by text,
    verb text,
    lost text,
    reason text,
    error text
);
create index unit_event_run on tenure.unit_event (run, id);
create unique index unit_event_refused on tenure.unit_event (run, stage, segment, token, lost) where what = 'refused';

-- Who may do what (P2): a transition that is not on the list is refused, whoever asks for it; and a claim draws a larger
-- token, which nothing ever takes back (L2).
create function tenure.unit_guard() returns trigger language plpgsql as $$
begin
    if old.status <> new.status and (old.status || '>' || new.status) not in (
        'NEW>READY', 'NEW>ERROR', 'READY>RUNNING', 'READY>ERROR', 'RUNNING>DONE', 'RUNNING>ERROR', 'RUNNING>READY',
        'RUNNING>NEW', 'ERROR>READY', 'ERROR>NEW', 'DONE>READY', 'DONE>NEW') then
        raise exception 'tenure: stage % must not go from % to % (P2)', old.stage, old.status, new.status
            using errcode = 'TE004';
    end if;
    if old.token is not null and (new.token is null or new.token < old.token
       or (new.token = old.token and old.status = 'READY' and new.status = 'RUNNING')) then
        raise exception 'tenure: the token of stage % must grow with every claim (L2)', old.stage using errcode = 'TE004';
    end if;
    return new;
end $$;
create trigger unit_guard before update on tenure.unit for each row execute function tenure.unit_guard();

-- The stages in the words of their document (Q11).
create view tenure.stages as
    select u.id, u.run, u.pipeline, u.stage, nullif(u.segment, '') as segment, u.status, u.reason, u.attempt,
           u.owner as lease_owner, u.expires_at as lease_expires_at, u.changed_at as updated_at
      from tenure.unit u;

-- A heartbeat of a unit, with what it brings.
create type tenure.unit_beat as (
    run bigint, stage text, segment text, owner text, token bigint, progress text, record text
);
