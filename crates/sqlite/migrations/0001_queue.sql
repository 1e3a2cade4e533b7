-- 0001_queue: the work queue.
--
-- `job` holds only what is queued or running, so a claim never wades through history; a job that ends moves to
-- `finished` in the transaction that ends it. A lease is a row of its own, one per grant: a heartbeat writes one small
-- row however many jobs it keeps, and no index on `job` moves with it.
-- Times are microseconds since 1970 UTC, spans are milliseconds. Payload, result, progress and checkpoint are JSON text,
-- byte for byte as sent.

-- One row: what only grows.
CREATE TABLE meta (
    only         INTEGER PRIMARY KEY CHECK (only = 1),
    epoch        INTEGER NOT NULL DEFAULT 0 CHECK (epoch BETWEEN 0 AND 8191),
    grants_drawn INTEGER NOT NULL DEFAULT 0 CHECK (grants_drawn BETWEEN 0 AND 1099511627775),
    last_id      INTEGER NOT NULL DEFAULT 0 CHECK (last_id >= 0)
) STRICT;
INSERT INTO meta (only) VALUES (1);

CREATE TABLE queue (
    name       TEXT PRIMARY KEY NOT NULL,
    created_at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE job (
    id             INTEGER PRIMARY KEY,
    queue          TEXT NOT NULL,
    kind           TEXT NOT NULL,
    priority       INTEGER NOT NULL,
    -- 0 ready, 1 scheduled (run_at was in the future when it was put here), 2 running.
    place          INTEGER NOT NULL CHECK (place BETWEEN 0 AND 2),
    created_at     INTEGER NOT NULL,
    run_at         INTEGER NOT NULL,
    attempt        INTEGER NOT NULL DEFAULT 0 CHECK (attempt >= 0),
    attempts_max   INTEGER NOT NULL CHECK (attempts_max >= 1),
    -- The job's own backoff: all four or none.
    backoff_initial_ms INTEGER,
    backoff_factor     REAL,
    backoff_max_ms     INTEGER,
    backoff_jitter     REAL,
    timeout_ms     INTEGER,
    -- The token of the last claim, kept when the job is put back (L2).
    token          INTEGER CHECK (token IS NOT NULL OR place <> 2),
    -- What went wrong last.
    error          TEXT,
    -- Ended claims, oldest first, as a JSON array: the receipts of L12. NULL is none.
    attempts       TEXT,
    payload        TEXT NOT NULL
) STRICT;
-- The order of claims (Q2).
CREATE INDEX job_ready ON job (queue, priority DESC, created_at, id) WHERE place = 0;
CREATE INDEX job_scheduled ON job (queue, run_at) WHERE place = 1;
-- For the age of the oldest waiting job; the ready ones are found by job_ready.
CREATE INDEX job_scheduled_age ON job (queue, created_at) WHERE place = 1;
-- Lists of one queue, newest first (an index ends with the id).
CREATE INDEX job_queue ON job (queue);

CREATE TABLE lease (
    token          INTEGER PRIMARY KEY,
    owner          TEXT NOT NULL,
    queue          TEXT NOT NULL,
    -- The jobs of the grant in the order of the claim, as a JSON array of ids.
    units          TEXT NOT NULL,
    -- How many of them, from the first, were started (L6).
    started        INTEGER NOT NULL,
    -- How many of them still run under it. The row goes when none does.
    left_count     INTEGER NOT NULL CHECK (left_count > 0),
    lease_ms       INTEGER NOT NULL,
    granted_at     INTEGER NOT NULL,
    expires_at     INTEGER NOT NULL,
    beats          INTEGER NOT NULL DEFAULT 0,
    last_beat_at   INTEGER,
    longest_gap_ms INTEGER NOT NULL DEFAULT 0,
    -- 1 when recovery met a row it could not read: it is left for a person and no longer stops the others (L7).
    stuck          INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX lease_expires ON lease (expires_at) WHERE stuck = 0;
CREATE INDEX lease_queue_expires ON lease (queue, expires_at);

-- What a holder said by heartbeat, apart from the job so that a heartbeat never rewrites a payload.
CREATE TABLE note (
    job        INTEGER PRIMARY KEY,
    progress   TEXT,
    checkpoint TEXT
) STRICT;

-- Jobs that ended. The last claim is spelled out in columns, earlier ones are in `attempts`.
CREATE TABLE finished (
    id             INTEGER PRIMARY KEY,
    queue          TEXT NOT NULL,
    kind           TEXT NOT NULL,
    priority       INTEGER NOT NULL,
    status         TEXT NOT NULL CHECK (status IN ('completed', 'failed')),
    reason         TEXT,
    created_at     INTEGER NOT NULL,
    run_at         INTEGER NOT NULL,
    attempt        INTEGER NOT NULL,
    attempts_max   INTEGER NOT NULL,
    backoff_initial_ms INTEGER,
    backoff_factor     REAL,
    backoff_max_ms     INTEGER,
    backoff_jitter     REAL,
    timeout_ms     INTEGER,
    token          INTEGER NOT NULL,
    owner          TEXT NOT NULL,
    claimed_at     INTEGER NOT NULL,
    finished_at    INTEGER NOT NULL,
    outcome        TEXT NOT NULL,
    -- NULL when not the holder but recovery ended it.
    verb           TEXT,
    beats          INTEGER NOT NULL,
    last_beat_at   INTEGER,
    longest_gap_ms INTEGER NOT NULL,
    error          TEXT,
    result         TEXT,
    attempts       TEXT,
    payload        TEXT NOT NULL
) STRICT;
CREATE INDEX finished_queue_status ON finished (queue, status, id);
-- Failures of all queues: few, and what people look for.
CREATE INDEX finished_failed ON finished (status) WHERE status = 'failed';

-- What went otherwise than well (L8).
CREATE TABLE event (
    id      INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    job     INTEGER NOT NULL,
    what    TEXT NOT NULL,
    token   INTEGER,
    owner   TEXT,
    attempt INTEGER,
    verb    TEXT,
    lost    TEXT,
    reason  TEXT,
    until   INTEGER,
    error   TEXT,
    count   INTEGER NOT NULL DEFAULT 1
) STRICT;
CREATE INDEX event_job ON event (job);
-- Repeated refusals are counted into one event for each job and reason.
CREATE UNIQUE INDEX event_refused ON event (job, lost) WHERE what = 'refused';

-- The queue in the words of its document (Q11). Instants are RFC 3339 text; the subtraction floors, so that instants
-- before 1970 are spelled right too.
CREATE VIEW work_queue AS
WITH shown AS (
    SELECT j.id, CASE j.place WHEN 2 THEN 'running' ELSE 'queued' END AS status, j.priority, j.payload, j.run_at,
           l.owner AS claimed_by, l.expires_at AS lease_expires_at, j.created_at,
           coalesce(l.granted_at, j.attempts ->> '$[#-1].claimed_at') AS started_at,
           coalesce(l.granted_at, j.attempts ->> '$[#-1].ended_at', j.created_at) AS updated_at
    FROM job j LEFT JOIN lease l ON j.place = 2 AND l.token = j.token
    UNION ALL
    SELECT f.id, f.status, f.priority, f.payload, f.run_at, NULL, NULL, f.created_at, f.claimed_at, f.finished_at
    FROM finished f
)
SELECT id, status, priority, payload,
       strftime('%Y-%m-%dT%H:%M:%S', (run_at - (run_at % 1000000 + 1000000) % 1000000) / 1000000, 'unixepoch')
           || printf('.%06dZ', (run_at % 1000000 + 1000000) % 1000000) AS run_at,
       claimed_by,
       strftime('%Y-%m-%dT%H:%M:%S', lease_expires_at / 1000000, 'unixepoch')
           || printf('.%06dZ', lease_expires_at % 1000000) AS lease_expires_at,
       strftime('%Y-%m-%dT%H:%M:%S', created_at / 1000000, 'unixepoch')
           || printf('.%06dZ', created_at % 1000000) AS created_at,
       strftime('%Y-%m-%dT%H:%M:%S', started_at / 1000000, 'unixepoch')
           || printf('.%06dZ', started_at % 1000000) AS started_at,
       strftime('%Y-%m-%dT%H:%M:%S', updated_at / 1000000, 'unixepoch')
           || printf('.%06dZ', updated_at % 1000000) AS updated_at
FROM shown;
