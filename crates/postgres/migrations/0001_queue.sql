-- 0001_queue: the work queue.
--
-- Written for the schema `tenure`; the migrator puts another name in its place where one was chosen.
--
-- job       what is queued or running. A finished job leaves this table in the statement that finishes it.
-- lease     one row for each grant: who may work on which jobs until when. Heartbeats touch only this table.
-- note      what a heartbeat left about a job: progress, and the checkpoint for the next attempt. Apart from `job`,
--           so that a transaction which has finished the job never blocks the heartbeat.
-- finished  history, written once.
-- receipt   endings that are no longer kept with their job, for the hour that L12 promises.
-- dedup     which job a key stands for (Q7).
-- gate      one row for each tenant and each lane that matters now: what it lets pass, and where it stands (Q8, Q9).
-- touch     gates to look at again, because something of theirs changed.
-- walk      how far the walks have come that find what no touch told of, and what is no longer kept.
-- slack     jobs finished inside their caller's own transaction, which their lease still counts (Q10).
-- event     abnormal transitions and operator actions (L8).
-- sighting  who looked for work, where and of which kinds; for people, nothing depends on it.
-- epoch     one row: which server drew the tokens (L2).

-- The one clock that judges leases (L5). Only the test harness replaces it. Called stable, though it moves on within a
-- statement: only then may an index be searched up to it, and whoever judges reads it in a statement after the lock.
-- In PL/pgSQL, which keeps its plan: a function in SQL would be planned anew at each call.
create function tenure.clock() returns timestamptz language plpgsql stable as 'begin return clock_timestamp(); end';

create table tenure.epoch (
    only_row boolean primary key default true check (only_row),
    -- How often the counter of tokens was moved ahead, and to where the last time.
    epoch integer not null,
    base bigint not null,
    system_identifier bigint not null,
    timeline text not null,
    -- A dump put back into the same server keeps both of the above, but not the identity of the tables; a copy of the whole
    -- database keeps that too, but not its own.
    relation oid not null,
    database oid not null,
    -- Since when the four were known to be right: compared on each claim, for it costs nothing to ask.
    server_started_at timestamptz not null
);

-- The counters are never cached: a number drawn by one session ahead of time could be overtaken.
create sequence tenure.job_id as bigint;
-- Tokens stay below 2^53, so that they survive as JSON numbers.
create sequence tenure.grant_counter as bigint maxvalue 9007199254740991;

-- The whole engine's limit (Q8).
create table tenure.engine (
    only_row boolean primary key default true check (only_row),
    max_running integer check (max_running between 1 and 1000000)
);
insert into tenure.engine default values;

create table tenure.queue (
    name text collate "C" primary key,
    created_at timestamptz not null,
    paused boolean not null default false,
    max_running integer check (max_running between 1 and 1000000),
    max_running_per_key integer check (max_running_per_key between 1 and 1000000),
    lane_on_failure text not null default 'continue' check (lane_on_failure in ('continue', 'block')),
    -- Counts the changes of the above: a failure under an earlier setting stops no lane.
    lane_policy integer not null default 0,
    retention_ms bigint not null default 604800000 check (retention_ms >= 0),
    -- Claims in each period, and what is spent of the current one.
    rate_max integer, rate_period_ms bigint, rate_period bigint, rate_spent integer not null default 0,
    key_rate_max integer, key_rate_period_ms bigint
) with (fillfactor = 50);

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
    -- Where it waits: 0 fresh, 1 late (put back, or was scheduled), 2 scheduled, 3 behind the gate of its tenant or lane.
    -- A claim leaves this as it is, so that claiming changes no indexed column.
    place smallint not null,
    running boolean not null default false,
    cancel_requested boolean not null default false,
    queue text collate "C" not null,
    kind text collate "C" not null,
    payload text not null,
    ordering_key text collate "C",
    limit_key text collate "C",
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
-- The order within a tenant, by kind, for a claim may ask for some kinds only. What is in a lane waits there.
create index job_tenant on tenure.job (queue, limit_key, kind, priority desc, created_at, id)
    where place = 3 and limit_key is not null and ordering_key is null;
-- The order of a lane.
create index job_lane on tenure.job (queue, ordering_key, id) where ordering_key is not null;
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
    -- Recovery could not return all of it and went on with the others (L7): not to be tried again before.
    stuck_until timestamptz,
    -- No heartbeat moves the expiry beyond: the timeout of its one job.
    ends_at timestamptz,
    -- Jobs an operator asked to cancel (L11): here, so that a heartbeat reads one row.
    cancelling bigint[],
    owner text not null,
    queue text collate "C" not null,
    -- The jobs, in the order of the claim.
    units bigint[] not null
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
-- A list of a few hundred ids is not worth compressing.
alter table tenure.lease alter column units set storage external;
create index lease_expiry on tenure.lease (queue, expires_at) where stuck_until is null;
create index lease_stuck on tenure.lease (stuck_until) where stuck_until is not null;

create table tenure.note (
    job bigint primary key,
    progress text,
    checkpoint text
);

create table tenure.finished (
    id bigint primary key,
    -- The last claim, if there was one: a job can be cancelled before.
    token bigint,
    created_at timestamptz not null,
    run_at timestamptz not null,
    claimed_at timestamptz,
    finished_at timestamptz not null,
    last_beat_at timestamptz,
    longest_gap_ms bigint not null default 0,
    timeout_ms bigint,
    beats integer not null default 0,
    priority integer not null,
    attempt integer not null,
    attempts_max integer not null,
    queue text collate "C" not null,
    kind text not null,
    payload text not null,
    ordering_key text,
    limit_key text,
    status text not null check (status in ('completed', 'failed')),
    reason text,
    -- The last claim: who held it, how it ended, and by which verb of the holder's.
    owner text,
    outcome text,
    verb text,
    result text,
    error text,
    -- Whether the error is that of the last claim, not of an earlier one.
    own_error boolean not null default false,
    progress text,
    checkpoint text,
    backoff double precision[],
    -- Earlier attempts, oldest first.
    attempts jsonb
) with (autovacuum_vacuum_insert_scale_factor = 0.2);
create index finished_queue on tenure.finished (queue, status, id);
create index finished_age on tenure.finished (queue, finished_at);
-- The list of all that failed, which is what people look for; the many that did not are not in it.
create index finished_failed on tenure.finished (id) where status = 'failed';

create table tenure.receipt (
    job bigint not null,
    token bigint not null,
    at timestamptz not null,
    owner text not null,
    -- The holder's verb and where it left the job; without a verb, whether an operator ended it or it ran out.
    verb text,
    status text not null,
    cancelled boolean not null,
    primary key (job, token)
);
create index receipt_age on tenure.receipt (at);

create table tenure.dedup (
    queue text collate "C" not null,
    key text collate "C" not null,
    job bigint not null,
    until timestamptz not null,
    -- SHA-256 of kind and canonical payload.
    body bytea not null,
    -- How the job ended, once it is no longer on record.
    ended text,
    primary key (queue, key)
);
create index dedup_age on tenure.dedup (until);
create index dedup_job on tenure.dedup (job);

-- Jobs with a tenant or a lane never stand in the indexes that claims read: their gate does, at the place of the best job
-- that it would let pass. Written only under its own row's lock, by claims and by the sweep; whoever changes a job that
-- waits or runs behind it leaves a touch instead, and waits for nobody.
create table tenure.gate (
    queue text collate "C" not null,
    lane boolean not null,
    key text collate "C" not null,
    -- Of a tenant: how many run; what it has spent of its rate, in which period, when last; when to look again.
    running integer not null default 0,
    rate_period bigint,
    rate_spent integer not null default 0,
    rate_at timestamptz,
    look_at timestamptz,
    -- Of a lane: the job whose turn it is; the failed job it stopped for; the tenant of its head, within which it stands.
    turn bigint,
    blocked_by bigint,
    tenant text collate "C",
    -- `open` lets its head pass; `full` and `spent` hold back a job that is due; `idle` has none, or not now.
    state text not null default 'idle' check (state in ('open', 'full', 'spent', 'idle')),
    -- The head's place in the order of Q2, while open.
    priority integer,
    created_at timestamptz,
    head bigint,
    primary key (queue, lane, key)
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
create index gate_open on tenure.gate (queue, priority desc, created_at, head) where state = 'open' and tenant is null;
create index gate_within on tenure.gate (queue, tenant, priority desc, created_at, head)
    where state = 'open' and tenant is not null;
create index gate_held on tenure.gate (queue, state, key) where state in ('full', 'spent');
create index gate_look on tenure.gate (queue, look_at) where look_at is not null;
create index gate_blocked on tenure.gate (queue, key) where blocked_by is not null;
create index gate_rate on tenure.gate (rate_at) where rate_at is not null;

-- Deleted under the lock of its gate alone. A hint, like a wake-up: without any, the walk finds what can run.
create table tenure.touch (
    id bigint generated always as identity,
    queue text collate "C" not null,
    lane boolean not null,
    key text collate "C" not null,
    -- How urgent it is to look: the priority of what came to wait; what was freed comes first.
    priority integer not null default 2147483647,
    -- Of a tenant: slots that were freed; or that what runs is to be counted anew.
    freed integer not null default 0,
    recount boolean not null default false,
    -- Of a lane: a job that failed for good, and the policy under which that stops it; one that an operator put back.
    failed bigint,
    policy integer,
    retried bigint
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
create index touch_order on tenure.touch (queue, priority desc, id);
create index touch_gate on tenure.touch (queue, lane, key);

-- How far each walk has come: over the keys of lanes and of tenants, for what no touch told of; over queues, for what is no
-- longer kept.
create table tenure.walk (
    over text primary key,
    walked_at timestamptz not null default '-infinity',
    -- The last that was looked at.
    queue text collate "C" not null default '',
    key text collate "C" not null default ''
);
insert into tenure.walk (over) values ('lanes'), ('tenants'), ('queues');

-- A job that a claim may take, with the gates it must pass.
create type tenure.candidate as (
    queue text, priority integer, created_at timestamptz, id bigint, tenant text, lane text
);

create table tenure.slack (
    token bigint not null,
    job bigint not null,
    queue text collate "C" not null
);
create index slack_token on tenure.slack (token);
create index slack_queue on tenure.slack (queue);

create table tenure.event (
    id bigint generated always as identity primary key,
    at timestamptz not null,
    -- The first time, where repetitions were counted into one event.
    first_at timestamptz,
    job bigint not null,
    token bigint,
    until timestamptz,
    attempt integer,
    count integer not null default 1,
    what text not null,
    owner text,
    -- Who acted, of an operator's act.
    by text,
    verb text,
    lost text,
    reason text,
    error text
);
create index event_job on tenure.event (job, id);
-- Repeated refusals of one token for one reason are counted into one event.
create unique index event_refused on tenure.event (job, token, lost) where what = 'refused';

-- What was changed about a queue, a schedule, a domain, a pipeline or the store (`face`, and the name; the store has none),
-- and by whom: the last hundred of each (L8).
create table tenure.change (
    id bigint generated always as identity primary key,
    at timestamptz not null,
    face text collate "C" not null,
    name text collate "C" not null,
    by text not null,
    what text not null,
    setting text,
    was text,
    became text
);
create index change_subject on tenure.change (face, name, id);
-- What is too old.
create index change_age on tenure.change (at);
-- The same for people.
create view tenure.changes as
    select c.at, c.face, c.name, c.what, c.setting, c.was, c.became, c.by from tenure.change c;

create table tenure.sighting (
    owner text collate "C" not null,
    queue text collate "C" not null,
    -- SHA-256 of the kinds, which may be too long for an index; empty is every kind.
    kinds_key bytea not null,
    -- In order and each once; null is every kind.
    kinds text[],
    first_seen_at timestamptz not null,
    seen_at timestamptz not null,
    primary key (owner, queue, kinds_key)
);
-- The newest of a queue; and what is past its day.
create index sighting_queue on tenure.sighting (queue, seen_at desc, owner);
create index sighting_age on tenure.sighting (seen_at);

-- The queue in the words of its document (Q11). `started_at` is the last claim; `updated_at` as the library tells it:
-- enqueued, claimed, put back or finished.
create view tenure.work_queue as
    select j.id,
           case when j.running then 'running' else 'queued' end as status,
           j.priority, j.payload, j.run_at,
           l.owner as claimed_by, l.expires_at as lease_expires_at,
           j.created_at,
           coalesce(l.granted_at,
                    timestamptz 'epoch' + (j.attempts -> -1 ->> 'claimed_at')::bigint * interval '1 microsecond')
               as started_at,
           coalesce(l.granted_at,
                    timestamptz 'epoch' + (j.attempts -> -1 ->> 'ended_at')::bigint * interval '1 microsecond',
                    j.created_at) as updated_at,
           j.queue, j.kind, j.attempt, j.error
      from tenure.job j left join tenure.lease l on j.running and l.token = j.token
    union all
    select f.id, f.status, f.priority, f.payload, f.run_at,
           null, null, f.created_at,
           coalesce(f.claimed_at,
                    timestamptz 'epoch' + (f.attempts -> -1 ->> 'claimed_at')::bigint * interval '1 microsecond'),
           f.finished_at, f.queue, f.kind, f.attempt, f.error
      from tenure.finished f;
