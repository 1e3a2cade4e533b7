-- 0001_queue: the work queue.
--
-- `job` holds only what is queued or running, so a claim never wades through history; a job that ends moves to
-- `finished` in the transaction that ends it. A lease is a row of its own, one per grant: a heartbeat writes one small
-- row however many jobs it keeps, and no index on `job` moves with it.
-- Times are microseconds since 1970 UTC, spans are milliseconds. Payload, result, progress and checkpoint are JSON text,
-- byte for byte as sent.

-- One row: what only grows.
CREATE TABLE tenure_meta (
    only       INTEGER PRIMARY KEY CHECK (only = 1),
    -- Below 2^53, so that tokens survive as JSON numbers.
    last_token INTEGER NOT NULL DEFAULT 0 CHECK (last_token BETWEEN 0 AND 9007199254740991),
    -- How often the counter of tokens was moved ahead, and to where the last time.
    epoch      INTEGER NOT NULL DEFAULT 0 CHECK (epoch >= 0),
    token_base INTEGER NOT NULL DEFAULT 0 CHECK (token_base >= 0),
    last_id    INTEGER NOT NULL DEFAULT 0 CHECK (last_id >= 0)
) STRICT;
INSERT INTO tenure_meta (only) VALUES (1);

-- One row: how many times callers took the write lock in transactions of their own (Q10). Only who wrote a turn reads
-- it before its commit, so a process can tell whether a transaction it has seen may still be open.
CREATE TABLE tenure_caller (
    only INTEGER PRIMARY KEY CHECK (only = 1),
    turn INTEGER NOT NULL DEFAULT 0
) STRICT;
INSERT INTO tenure_caller (only) VALUES (1);

-- One row: the limit of the whole engine (Q8).
CREATE TABLE tenure_engine (
    only        INTEGER PRIMARY KEY CHECK (only = 1),
    max_running INTEGER CHECK (max_running BETWEEN 1 AND 1000000)
) STRICT;
INSERT INTO tenure_engine (only) VALUES (1);

CREATE TABLE tenure_queue (
    name       TEXT PRIMARY KEY NOT NULL,
    created_at INTEGER NOT NULL,
    -- Jobs that run, counted in the transactions that move them (Q8).
    running    INTEGER NOT NULL DEFAULT 0 CHECK (running >= 0),
    paused     INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)),
    max_running         INTEGER CHECK (max_running BETWEEN 1 AND 1000000),
    max_running_per_key INTEGER CHECK (max_running_per_key BETWEEN 1 AND 1000000),
    lane_on_failure TEXT NOT NULL DEFAULT 'continue' CHECK (lane_on_failure IN ('continue', 'block')),
    retention_ms    INTEGER NOT NULL DEFAULT 604800000 CHECK (retention_ms >= 0),
    -- Claims in each period, both or none; and how many were spent in which.
    rate_max       INTEGER,
    rate_period_ms INTEGER CHECK ((rate_max IS NULL) = (rate_period_ms IS NULL)),
    rate_period    INTEGER NOT NULL DEFAULT 0,
    rate_spent     INTEGER NOT NULL DEFAULT 0,
    -- The same for each tenant.
    key_rate_max       INTEGER,
    key_rate_period_ms INTEGER CHECK ((key_rate_max IS NULL) = (key_rate_period_ms IS NULL))
) STRICT, WITHOUT ROWID;

-- Tenants that have something running, or that have spent some of their rate (Q8).
CREATE TABLE tenure_tenant (
    queue       TEXT NOT NULL,
    key         TEXT NOT NULL,
    running     INTEGER NOT NULL DEFAULT 0 CHECK (running >= 0),
    rate_period INTEGER NOT NULL DEFAULT 0,
    rate_spent  INTEGER NOT NULL DEFAULT 0,
    -- When one of its jobs was last claimed.
    claimed_at  INTEGER NOT NULL,
    PRIMARY KEY (queue, key)
) STRICT, WITHOUT ROWID;
-- Those that only a rate keeps here, until its period is surely over.
CREATE INDEX tenure_tenant_idle ON tenure_tenant (claimed_at) WHERE running = 0;

-- Lanes that stopped, and the failed job they stopped for (Q9). Whose turn it is otherwise, the index tenure_job_turn knows.
CREATE TABLE tenure_lane (
    queue      TEXT NOT NULL,
    key        TEXT NOT NULL,
    blocked_by INTEGER NOT NULL,
    PRIMARY KEY (queue, key)
) STRICT, WITHOUT ROWID;

CREATE TABLE tenure_job (
    id             INTEGER PRIMARY KEY,
    queue          TEXT NOT NULL,
    kind           TEXT NOT NULL,
    priority       INTEGER NOT NULL,
    -- 0 ready, 1 scheduled (run_at was in the future when it was put here), 2 running, 3 parked (due, behind another
    -- of its tenant and kind or behind the tenant's limit), 4 behind in its lane, 5 set aside: a claim met it and could
    -- not read it, so that it is left for a person and no longer stops the others (L7).
    place          INTEGER NOT NULL CHECK (place BETWEEN 0 AND 5),
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
    ordering_key   TEXT,
    limit_key      TEXT,
    -- An operator asked to cancel it while it ran (L11).
    cancel_requested INTEGER NOT NULL DEFAULT 0,
    -- The token of the last claim, kept when the job is put back (L2).
    token          INTEGER CHECK (token IS NOT NULL OR place <> 2),
    -- What went wrong last.
    error          TEXT,
    -- Ended claims, oldest first, as a JSON array: the receipts of L12. NULL is none.
    attempts       TEXT,
    payload        TEXT NOT NULL
) STRICT;
-- The order of claims (Q2). Of a tenant and kind only the first stands here, and only while the tenant is below its
-- limit; of a lane only the one whose turn it is. So neither slows the others down, however many wait (Q8, Q9).
CREATE INDEX tenure_job_ready ON tenure_job (queue, priority DESC, created_at, id, limit_key) WHERE place = 0;
CREATE INDEX tenure_job_scheduled ON tenure_job (queue, run_at) WHERE place = 1;
-- The order of claims within a tenant and kind; and the one of them that is ready.
CREATE INDEX tenure_job_parked ON tenure_job (queue, limit_key, kind, priority DESC, created_at, id) WHERE place = 3;
CREATE UNIQUE INDEX tenure_job_shown ON tenure_job (queue, limit_key, kind) WHERE limit_key IS NOT NULL AND place = 0;
-- The order of a lane; and the one of it that runs or may run. That it is one is what Q9 promises.
CREATE INDEX tenure_job_lane ON tenure_job (queue, ordering_key, id) WHERE ordering_key IS NOT NULL;
CREATE UNIQUE INDEX tenure_job_turn ON tenure_job (queue, ordering_key) WHERE ordering_key IS NOT NULL AND place <> 4;
CREATE INDEX tenure_job_stuck ON tenure_job (id) WHERE place = 5;
-- Lists of one queue, newest first, and the oldest that waits (an index ends with the id).
CREATE INDEX tenure_job_queue ON tenure_job (queue);

CREATE TABLE tenure_lease (
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
    -- No heartbeat moves the expiry beyond: the timeout of its one job.
    ends_at        INTEGER,
    -- 1 when some of its jobs have a lane or a tenant.
    keyed          INTEGER NOT NULL DEFAULT 0,
    -- 1 when an operator asked to cancel some of its jobs, so that only then a heartbeat looks for them.
    cancels        INTEGER NOT NULL DEFAULT 0,
    beats          INTEGER NOT NULL DEFAULT 0,
    last_beat_at   INTEGER,
    longest_gap_ms INTEGER NOT NULL DEFAULT 0,
    -- 1 when recovery met a row it could not read: it is left for a person and no longer stops the others (L7).
    stuck          INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX tenure_lease_expires ON tenure_lease (expires_at) WHERE stuck = 0;
CREATE INDEX tenure_lease_queue_expires ON tenure_lease (queue, expires_at);

-- What a holder said by heartbeat, apart from the job so that a heartbeat never rewrites a payload.
CREATE TABLE tenure_note (
    job        INTEGER PRIMARY KEY,
    progress   TEXT,
    checkpoint TEXT
) STRICT;

-- Jobs that ended. The claim that ended with the job is spelled out in columns, earlier ones are in `attempts`; a job
-- that was cancelled while it waited has no such claim.
CREATE TABLE tenure_finished (
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
    ordering_key   TEXT,
    limit_key      TEXT,
    token          INTEGER,
    owner          TEXT,
    claimed_at     INTEGER,
    finished_at    INTEGER NOT NULL,
    outcome        TEXT,
    -- NULL when not the holder but recovery or an operator ended it.
    verb           TEXT,
    beats          INTEGER NOT NULL DEFAULT 0,
    last_beat_at   INTEGER,
    longest_gap_ms INTEGER NOT NULL DEFAULT 0,
    error          TEXT,
    -- 1 when the error is of that claim, not of an earlier one.
    error_is_last  INTEGER NOT NULL DEFAULT 0,
    result         TEXT,
    attempts       TEXT,
    payload        TEXT NOT NULL
) STRICT;
CREATE INDEX tenure_finished_queue_status ON tenure_finished (queue, status, id);
-- Failures of all queues: few, and what people look for.
CREATE INDEX tenure_finished_failed ON tenure_finished (status) WHERE status = 'failed';
-- What is past its retention.
CREATE INDEX tenure_finished_age ON tenure_finished (queue, finished_at);

-- Endings that are no longer kept with their job, for the hour that L12 promises.
CREATE TABLE tenure_receipt (
    job    INTEGER NOT NULL,
    token  INTEGER NOT NULL,
    owner  TEXT NOT NULL,
    -- The holder's verb and where it left the job; without a verb, whether an operator ended it or it ran out.
    verb      TEXT,
    status    TEXT NOT NULL,
    cancelled INTEGER NOT NULL,
    at        INTEGER NOT NULL,
    PRIMARY KEY (job, token)
) STRICT, WITHOUT ROWID;
CREATE INDEX tenure_receipt_age ON tenure_receipt (at);

-- The job that a key stands for (Q7).
CREATE TABLE tenure_dedup (
    queue TEXT NOT NULL,
    key   TEXT NOT NULL,
    job   INTEGER NOT NULL,
    until INTEGER NOT NULL,
    -- SHA-256 of the kind and the payload as a JSON value.
    body  BLOB NOT NULL,
    -- How the job ended, once it is no longer on record.
    ended TEXT,
    PRIMARY KEY (queue, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX tenure_dedup_age ON tenure_dedup (until);
CREATE INDEX tenure_dedup_job ON tenure_dedup (job);

-- What went otherwise than well (L8).
CREATE TABLE tenure_event (
    id      INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    -- The first time, where repetitions were counted into one event.
    first_at INTEGER,
    job     INTEGER NOT NULL,
    what    TEXT NOT NULL,
    token   INTEGER,
    owner   TEXT,
    -- Who acted, of an operator's act.
    by      TEXT,
    attempt INTEGER,
    verb    TEXT,
    lost    TEXT,
    reason  TEXT,
    until   INTEGER,
    error   TEXT,
    count   INTEGER NOT NULL DEFAULT 1
) STRICT;
CREATE INDEX tenure_event_job ON tenure_event (job);
-- Repeated refusals are counted into one event for each job, token and reason.
CREATE UNIQUE INDEX tenure_event_refused ON tenure_event (job, token, lost) WHERE what = 'refused';

-- What was changed about a queue, a schedule, a domain, a pipeline or the store (`face`, and the name; the store has
-- none), and by whom: the last hundred of each (L8).
CREATE TABLE tenure_change (
    id      INTEGER PRIMARY KEY,
    at      INTEGER NOT NULL,
    face    TEXT NOT NULL,
    name    TEXT NOT NULL,
    by      TEXT NOT NULL,
    what    TEXT NOT NULL,
    setting TEXT,
    was     TEXT,
    became  TEXT
) STRICT;
CREATE INDEX tenure_change_subject ON tenure_change (face, name, id);
-- What is too old.
CREATE INDEX tenure_change_age ON tenure_change (at);

-- Who looked for work, where and of which kinds, written at most once a minute and kept for a day.
CREATE TABLE tenure_sighting (
    owner         TEXT NOT NULL,
    queue         TEXT NOT NULL,
    -- A JSON array of names, in order and each once; empty is every kind.
    kinds         TEXT NOT NULL,
    first_seen_at INTEGER NOT NULL,
    seen_at       INTEGER NOT NULL,
    PRIMARY KEY (owner, queue, kinds)
) STRICT, WITHOUT ROWID;
-- The newest of a queue; and what is past its day.
CREATE INDEX tenure_sighting_queue ON tenure_sighting (queue, seen_at DESC, owner);
CREATE INDEX tenure_sighting_age ON tenure_sighting (seen_at);

-- The same for people.
CREATE VIEW tenure_changes AS
SELECT strftime('%Y-%m-%dT%H:%M:%S', at / 1000000, 'unixepoch') || printf('.%06dZ', at % 1000000) AS at,
       face, name, what, setting, was, became, by
FROM tenure_change;

-- The queue in the words of its document (Q11). Instants are RFC 3339 text; the subtraction floors, so that instants
-- before 1970 are spelled right too.
CREATE VIEW tenure_work_queue AS
WITH shown AS (
    SELECT j.id, CASE j.place WHEN 2 THEN 'running' ELSE 'queued' END AS status, j.priority, j.payload, j.run_at,
           l.owner AS claimed_by, l.expires_at AS lease_expires_at, j.created_at,
           coalesce(l.granted_at, j.attempts ->> '$[#-1].claimed_at') AS started_at,
           coalesce(l.granted_at, j.attempts ->> '$[#-1].ended_at', j.created_at) AS updated_at,
           j.queue, j.kind, j.attempt, j.error
    FROM tenure_job j LEFT JOIN tenure_lease l ON j.place = 2 AND l.token = j.token
    UNION ALL
    SELECT f.id, f.status, f.priority, f.payload, f.run_at, NULL, NULL, f.created_at,
           coalesce(f.claimed_at, f.attempts ->> '$[#-1].claimed_at'), f.finished_at,
           f.queue, f.kind, f.attempt, f.error
    FROM tenure_finished f
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
           || printf('.%06dZ', updated_at % 1000000) AS updated_at,
       queue, kind, attempt, error
FROM shown;
