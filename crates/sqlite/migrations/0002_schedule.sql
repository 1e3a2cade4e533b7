-- 0002_schedule: jobs that are enqueued by the clock.
--
-- `schedule` holds what each does and its cursor, `firing` one row for each slot that was fired, the last of them.

-- One row: the last revision drawn. One counter for all schedules, so that one removed and put again never has a
-- revision it had before (T1).
CREATE TABLE tenure_schedule_meta (
    only          INTEGER PRIMARY KEY CHECK (only = 1),
    last_revision INTEGER NOT NULL DEFAULT 0 CHECK (last_revision >= 0)
) STRICT;
INSERT INTO tenure_schedule_meta (only) VALUES (1);

CREATE TABLE tenure_schedule (
    name       TEXT PRIMARY KEY NOT NULL,
    revision   INTEGER NOT NULL,
    cron       TEXT NOT NULL,
    zone       TEXT NOT NULL,
    catch_up   TEXT NOT NULL CHECK (catch_up IN ('none', 'latest', 'all')),
    paused     INTEGER NOT NULL CHECK (paused IN (0, 1)),
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    -- The cursor: the next slot that nobody has dealt with.
    next_at    INTEGER,
    last_slot     INTEGER,
    last_fired_at INTEGER,
    last_job      INTEGER,
    fired      INTEGER NOT NULL DEFAULT 0,
    missed     INTEGER NOT NULL DEFAULT 0,
    missed_at  INTEGER,
    -- The job of each slot.
    queue              TEXT NOT NULL,
    kind               TEXT NOT NULL,
    priority           INTEGER NOT NULL,
    attempts_max       INTEGER NOT NULL,
    backoff_initial_ms INTEGER,
    backoff_factor     REAL,
    backoff_max_ms     INTEGER,
    backoff_jitter     REAL,
    timeout_ms         INTEGER,
    ordering_key       TEXT,
    limit_key          TEXT,
    payload            TEXT NOT NULL
) STRICT;
-- What a scheduler looks for.
CREATE INDEX tenure_schedule_due ON tenure_schedule (next_at, name) WHERE paused = 0 AND next_at IS NOT NULL;

CREATE TABLE tenure_firing (
    schedule TEXT NOT NULL,
    slot     INTEGER NOT NULL,
    fired_at INTEGER NOT NULL,
    job      INTEGER NOT NULL,
    PRIMARY KEY (schedule, slot)
) STRICT, WITHOUT ROWID;

-- Schedules as they are read.
CREATE VIEW tenure_schedule_shown AS
    SELECT name, revision, cron, zone, catch_up, paused, created_at, updated_at, next_at, last_slot, last_fired_at, last_job,
           fired, missed, missed_at, queue, kind, payload, priority, attempts_max, timeout_ms, ordering_key, limit_key,
           backoff_initial_ms, backoff_factor, backoff_max_ms, backoff_jitter
    FROM tenure_schedule;
