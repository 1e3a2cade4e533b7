-- 0004_sync: syncs and their chunks.
--
-- A chunk is one row for all passes, named by matrix and hash: a new pass takes it over, and its token, its last sync, its
-- row count and its cursor stay. No state is stored: it is read off completed_at, failed_at and locked_until at one
-- instant, here, in the views and everywhere else (S1).
-- Times are microseconds since 1970 UTC, spans are milliseconds. Where a chunk_hash may be absent, '' is the sync itself.

CREATE TABLE tenure_sync_job (
    id             INTEGER PRIMARY KEY AUTOINCREMENT,
    matrix_id      TEXT NOT NULL,
    priority       INTEGER NOT NULL,
    created_at     INTEGER NOT NULL,
    skip_if_synced_within_ms INTEGER,
    -- Attempts that each of its chunks may have.
    attempts_max   INTEGER NOT NULL CHECK (attempts_max >= 1),
    -- Leases that ran out since a chunk was last done, and how many of them end it (L6).
    crashes        INTEGER NOT NULL DEFAULT 0 CHECK (crashes >= 0),
    crashes_max    INTEGER,
    -- When a chunk of it was last done, not counting what was skipped.
    last_done_at   INTEGER,
    -- Chunks planned so far.
    planned        INTEGER NOT NULL DEFAULT 0,
    -- The token of the last claim, kept when the lease ends (L2).
    token          INTEGER,
    claimed_at     INTEGER,
    -- The lease; all or nothing. It stays after it ran out, until the next claim.
    locked_by      TEXT,
    locked_until   INTEGER CHECK ((locked_until IS NULL) = (locked_by IS NULL)),
    lease_ms       INTEGER,
    -- 1 once its running out has been written down (L7).
    told           INTEGER NOT NULL DEFAULT 0,
    beats          INTEGER NOT NULL DEFAULT 0,
    last_beat_at   INTEGER,
    longest_gap_ms INTEGER NOT NULL DEFAULT 0,
    completed_at   INTEGER,
    failed_at      INTEGER,
    error_message  TEXT,
    reason         TEXT,
    -- How far it had come when it ended; later passes take its chunks over.
    done_available INTEGER,
    done_completed INTEGER,
    done_failed    INTEGER,
    done_skipped   INTEGER,
    done_rows      INTEGER,
    done_began_at  INTEGER,
    done_last_at   INTEGER,
    CHECK (completed_at IS NULL OR failed_at IS NULL),
    CHECK (locked_until IS NULL OR (completed_at IS NULL AND failed_at IS NULL))
) STRICT;
-- Two runs of one sync never overlap (S6).
CREATE UNIQUE INDEX tenure_sync_job_unfinished ON tenure_sync_job (matrix_id) WHERE completed_at IS NULL AND failed_at IS NULL;
-- The order of claims (S2), and what ran out.
CREATE INDEX tenure_sync_job_waiting ON tenure_sync_job (priority DESC, created_at, id)
    WHERE completed_at IS NULL AND failed_at IS NULL AND locked_until IS NULL;
CREATE INDEX tenure_sync_job_locked ON tenure_sync_job (locked_until, id) WHERE locked_until IS NOT NULL;
-- Lists of a matrix, and whether a later pass followed.
CREATE INDEX tenure_sync_job_matrix ON tenure_sync_job (matrix_id, id);
-- What is past its retention.
CREATE INDEX tenure_sync_job_ended ON tenure_sync_job (coalesce(completed_at, failed_at))
    WHERE completed_at IS NOT NULL OR failed_at IS NOT NULL;

CREATE TABLE tenure_sync_chunk (
    matrix_id      TEXT NOT NULL,
    chunk_hash     TEXT NOT NULL,
    -- The pass that planned it last, and its place in that plan.
    sync           INTEGER NOT NULL,
    ord            INTEGER NOT NULL,
    attempt        INTEGER NOT NULL DEFAULT 0 CHECK (attempt >= 0),
    attempts_max   INTEGER NOT NULL,
    token          INTEGER,
    claimed_at     INTEGER,
    locked_by      TEXT,
    locked_until   INTEGER CHECK ((locked_until IS NULL) = (locked_by IS NULL)),
    lease_ms       INTEGER,
    told           INTEGER NOT NULL DEFAULT 0,
    beats          INTEGER NOT NULL DEFAULT 0,
    last_beat_at   INTEGER,
    longest_gap_ms INTEGER NOT NULL DEFAULT 0,
    completed_at   INTEGER,
    failed_at      INTEGER,
    error_message  TEXT,
    reason         TEXT,
    last_synced_at INTEGER,
    row_count      INTEGER,
    cursor         TEXT,
    payload        TEXT NOT NULL,
    PRIMARY KEY (matrix_id, chunk_hash),
    CHECK (completed_at IS NULL OR failed_at IS NULL),
    CHECK (locked_until IS NULL OR (completed_at IS NULL AND failed_at IS NULL))
) STRICT;
CREATE UNIQUE INDEX tenure_sync_chunk_place ON tenure_sync_chunk (sync, ord);
-- What waits, in the order of the plan: what is done is not in it, so the hundred-thousandth claim costs what the first did.
CREATE INDEX tenure_sync_chunk_waiting ON tenure_sync_chunk (sync, ord)
    WHERE completed_at IS NULL AND failed_at IS NULL AND locked_until IS NULL;
CREATE INDEX tenure_sync_chunk_locked ON tenure_sync_chunk (sync, locked_until, ord) WHERE locked_until IS NOT NULL;
-- What recovery has not written down yet.
CREATE INDEX tenure_sync_chunk_untold ON tenure_sync_chunk (locked_until, sync, ord) WHERE locked_until IS NOT NULL AND told = 0;

-- Plans under way that are too large for one transaction. Their chunks are laid in parts, under the id that the sync will
-- have; the last part makes the sync, and before that nobody sees it. One that is given up leaves nothing behind.
CREATE TABLE tenure_sync_draft (
    id        INTEGER PRIMARY KEY,
    matrix_id TEXT NOT NULL UNIQUE,
    -- When its last part was laid.
    at        INTEGER NOT NULL,
    -- 1 once it is being undone.
    given_up  INTEGER NOT NULL DEFAULT 0
) STRICT;
-- What a draft changed of chunks of earlier passes, to be given back if it is given up.
CREATE TABLE tenure_sync_taken (
    draft         INTEGER NOT NULL,
    chunk_hash    TEXT NOT NULL,
    sync          INTEGER NOT NULL,
    ord           INTEGER NOT NULL,
    attempt       INTEGER NOT NULL,
    attempts_max  INTEGER NOT NULL,
    claimed_at    INTEGER,
    completed_at  INTEGER,
    failed_at     INTEGER,
    error_message TEXT,
    reason        TEXT,
    payload       TEXT NOT NULL,
    PRIMARY KEY (draft, chunk_hash)
) STRICT, WITHOUT ROWID;

-- Ended claims, for the hour that L12 promises.
CREATE TABLE tenure_sync_receipt (
    sync       INTEGER NOT NULL,
    chunk_hash TEXT NOT NULL,
    token      INTEGER NOT NULL,
    owner      TEXT NOT NULL,
    -- The holder's verb and where it left the unit; without one the lease ran out, or was cancelled.
    verb       TEXT,
    state      TEXT,
    cancelled  INTEGER NOT NULL DEFAULT 0,
    at         INTEGER NOT NULL,
    PRIMARY KEY (sync, chunk_hash, token)
) STRICT, WITHOUT ROWID;
CREATE INDEX tenure_sync_receipt_age ON tenure_sync_receipt (at);

-- What went otherwise than well (L8).
CREATE TABLE tenure_sync_event (
    id         INTEGER PRIMARY KEY,
    at         INTEGER NOT NULL,
    -- The first time, where repetitions were counted into one event.
    first_at   INTEGER,
    sync       INTEGER NOT NULL,
    chunk_hash TEXT NOT NULL,
    what       TEXT NOT NULL,
    token      INTEGER,
    owner      TEXT,
    -- Who acted, of an operator's act.
    by         TEXT,
    attempt    INTEGER,
    verb       TEXT,
    lost       TEXT,
    reason     TEXT,
    error      TEXT,
    count      INTEGER NOT NULL DEFAULT 1
) STRICT;
CREATE INDEX tenure_sync_event_sync ON tenure_sync_event (sync);
-- Repeated refusals of one token for one reason are counted into one event.
CREATE UNIQUE INDEX tenure_sync_event_refused ON tenure_sync_event (sync, chunk_hash, token, lost) WHERE what = 'refused';

-- Syncs and chunks as they are read.
CREATE VIEW tenure_sync_job_shown AS
    SELECT id, matrix_id, priority, created_at, skip_if_synced_within_ms, attempts_max, crashes, crashes_max, planned,
           token, claimed_at, locked_by, locked_until, lease_ms, told, beats, last_beat_at, longest_gap_ms,
           completed_at, failed_at, error_message, reason,
           done_available, done_completed, done_failed, done_skipped, done_rows, done_began_at, done_last_at
    FROM tenure_sync_job;
CREATE VIEW tenure_sync_chunk_shown AS
    SELECT sync, matrix_id, chunk_hash, ord, payload, attempt, attempts_max, last_synced_at, row_count, cursor,
           token, claimed_at, locked_by, locked_until, lease_ms, told, beats, last_beat_at, longest_gap_ms,
           completed_at, failed_at, error_message, reason
    FROM tenure_sync_chunk;

-- Syncs and chunks in the words of their document (Q11). Instants are RFC 3339 text; the state is as of one instant.
CREATE VIEW tenure_sync_jobs AS
WITH clock (now) AS MATERIALIZED (SELECT CAST(unixepoch('subsec') * 1000000 AS INTEGER))
SELECT id, matrix_id, priority,
       CASE WHEN completed_at IS NOT NULL THEN 'COMPLETED' WHEN failed_at IS NOT NULL THEN 'FAILED'
            WHEN locked_until > now THEN 'RUNNING' WHEN locked_until IS NOT NULL THEN 'EXPIRED'
            ELSE 'AVAILABLE' END AS state,
       strftime('%Y-%m-%dT%H:%M:%S', created_at / 1000000, 'unixepoch') || printf('.%06dZ', created_at % 1000000)
           AS created_at,
       strftime('%Y-%m-%dT%H:%M:%S', locked_until / 1000000, 'unixepoch') || printf('.%06dZ', locked_until % 1000000)
           AS locked_until,
       locked_by,
       strftime('%Y-%m-%dT%H:%M:%S', completed_at / 1000000, 'unixepoch') || printf('.%06dZ', completed_at % 1000000)
           AS completed_at,
       strftime('%Y-%m-%dT%H:%M:%S', failed_at / 1000000, 'unixepoch') || printf('.%06dZ', failed_at % 1000000)
           AS failed_at,
       error_message
FROM tenure_sync_job, clock;

CREATE VIEW tenure_sync_checkpoints AS
WITH clock (now) AS MATERIALIZED (SELECT CAST(unixepoch('subsec') * 1000000 AS INTEGER))
SELECT matrix_id, chunk_hash, sync AS sync_job_id,
       CASE WHEN completed_at IS NOT NULL THEN 'COMPLETED' WHEN failed_at IS NOT NULL THEN 'FAILED'
            WHEN locked_until > now THEN 'RUNNING' WHEN locked_until IS NOT NULL THEN 'EXPIRED'
            ELSE 'AVAILABLE' END AS state,
       strftime('%Y-%m-%dT%H:%M:%S', locked_until / 1000000, 'unixepoch') || printf('.%06dZ', locked_until % 1000000)
           AS locked_until,
       locked_by,
       strftime('%Y-%m-%dT%H:%M:%S', completed_at / 1000000, 'unixepoch') || printf('.%06dZ', completed_at % 1000000)
           AS completed_at,
       strftime('%Y-%m-%dT%H:%M:%S', failed_at / 1000000, 'unixepoch') || printf('.%06dZ', failed_at % 1000000)
           AS failed_at,
       error_message,
       strftime('%Y-%m-%dT%H:%M:%S', last_synced_at / 1000000, 'unixepoch') || printf('.%06dZ', last_synced_at % 1000000)
           AS last_synced_at,
       row_count, cursor
FROM tenure_sync_chunk, clock WHERE sync IN (SELECT id FROM tenure_sync_job);
