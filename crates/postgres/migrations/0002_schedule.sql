-- 0002_schedule: jobs that are enqueued by the clock.
--
-- schedule  what each does, and its cursor.
-- firing    one row for each slot that was fired; the last of them are kept.

-- One counter for all schedules, so that one removed and put again never has a revision it had before (T1).
create sequence tenure.schedule_revision as bigint;

create table tenure.schedule (
    name text collate "C" primary key,
    revision bigint not null,
    created_at timestamptz not null,
    updated_at timestamptz not null,
    -- The cursor: the next slot that nobody has dealt with.
    next_at timestamptz,
    last_slot timestamptz,
    last_fired_at timestamptz,
    last_job bigint,
    fired bigint not null default 0,
    missed bigint not null default 0,
    missed_at timestamptz,
    paused boolean not null,
    catch_up text not null check (catch_up in ('none', 'latest', 'all')),
    cron text not null,
    zone text not null,
    -- The job of each slot.
    queue text not null,
    kind text not null,
    priority integer not null,
    attempts_max integer not null,
    timeout_ms bigint,
    -- initial_ms, factor, max_ms, jitter.
    backoff double precision[],
    ordering_key text,
    limit_key text,
    payload text not null
);
-- What a scheduler looks for.
create index schedule_due on tenure.schedule (next_at, name) where not paused and next_at is not null;

create table tenure.firing (
    schedule text collate "C" not null,
    slot timestamptz not null,
    fired_at timestamptz not null,
    job bigint not null,
    primary key (schedule, slot)
);
