-- 0005_pipeline: runs made of stages, and the segments of stages that were split.
--
-- A stage and a segment are the same thing, a `unit`: claimed, kept and ended alike. A lease is part of its unit's row,
-- for it covers one unit only. What has ended stays in place until its run is removed: claims read a partial index.
-- Times are microseconds since 1970 UTC, spans are milliseconds. Input, output and progress are JSON text.

CREATE TABLE tenure_pipeline (
    name       TEXT NOT NULL,
    version    INTEGER NOT NULL CHECK (version BETWEEN 1 AND 2147483647),
    -- One line for each stage, as core writes it.
    definition TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (name, version)
) STRICT, WITHOUT ROWID;

-- The stages that some version of a pipeline has.
CREATE TABLE tenure_pipeline_stage (
    pipeline TEXT NOT NULL,
    stage    TEXT NOT NULL,
    PRIMARY KEY (pipeline, stage)
) STRICT, WITHOUT ROWID;

CREATE TABLE tenure_run (
    id          INTEGER PRIMARY KEY AUTOINCREMENT,
    pipeline    TEXT NOT NULL,
    version     INTEGER NOT NULL,
    input       TEXT NOT NULL,
    status      TEXT NOT NULL CHECK (status IN ('RUNNING', 'DONE', 'ERROR')),
    paused      INTEGER NOT NULL DEFAULT 0 CHECK (paused IN (0, 1)),
    created_at  INTEGER NOT NULL,
    finished_at INTEGER CHECK ((finished_at IS NULL) = (status = 'RUNNING')),
    key         TEXT
) STRICT;
-- Started once under a key, as long as the run is kept.
CREATE UNIQUE INDEX tenure_run_key ON tenure_run (pipeline, key) WHERE key IS NOT NULL;
CREATE INDEX tenure_run_pipeline ON tenure_run (pipeline, id);
CREATE INDEX tenure_run_status ON tenure_run (status, id);
CREATE INDEX tenure_run_age ON tenure_run (finished_at) WHERE finished_at IS NOT NULL;

-- Runs in which something happened that the orchestrator has not looked at yet. Written in the transaction in which it
-- happened, so nothing is ever missed; looked at in the order of their first news. One that cannot be read is set aside.
CREATE TABLE tenure_run_touched (
    id    INTEGER PRIMARY KEY AUTOINCREMENT,
    run   INTEGER NOT NULL UNIQUE,
    stuck INTEGER NOT NULL DEFAULT 0
) STRICT;
CREATE INDEX tenure_run_touched_waiting ON tenure_run_touched (id) WHERE stuck = 0;
CREATE INDEX tenure_run_touched_stuck ON tenure_run_touched (run) WHERE stuck = 1;

CREATE TABLE tenure_unit (
    id           INTEGER PRIMARY KEY AUTOINCREMENT,
    run          INTEGER NOT NULL,
    pipeline     TEXT NOT NULL,
    stage        TEXT NOT NULL,
    -- Empty is the stage itself.
    segment      TEXT NOT NULL,
    -- Names with commas between them.
    needs        TEXT NOT NULL,
    priority     INTEGER NOT NULL,
    lease_ms     INTEGER NOT NULL,
    attempts_max INTEGER NOT NULL CHECK (attempts_max >= 1),
    -- initial_ms,factor,max_ms,jitter
    backoff      TEXT,
    segmented    INTEGER NOT NULL CHECK (segmented IN (0, 1)),
    split        INTEGER NOT NULL DEFAULT 0 CHECK (split IN (0, 1)),
    status       TEXT NOT NULL CHECK (status IN ('NEW', 'READY', 'RUNNING', 'DONE', 'ERROR')),
    -- Finally ERROR.
    reason       TEXT CHECK (reason IS NULL OR status = 'ERROR'),
    retry_at     INTEGER CHECK (retry_at IS NULL OR status = 'ERROR'),
    attempt      INTEGER NOT NULL DEFAULT 0 CHECK (attempt >= 0),
    input        TEXT,
    output       TEXT,
    error        TEXT,
    progress     TEXT,
    -- What was recorded of its outputs, as core writes it.
    record       TEXT,
    token        INTEGER,
    -- Whether it may be handed out while it is READY: the run is not paused, its stage has not failed for good.
    open         INTEGER NOT NULL DEFAULT 0 CHECK (open IN (0, 1)),
    owner        TEXT,
    granted_ms   INTEGER NOT NULL DEFAULT 0,
    granted_at   INTEGER,
    expires_at   INTEGER CHECK ((expires_at IS NOT NULL) = (status = 'RUNNING')),
    beats        INTEGER NOT NULL DEFAULT 0,
    last_beat_at INTEGER,
    longest_gap_ms INTEGER NOT NULL DEFAULT 0,
    changed_at   INTEGER NOT NULL,
    -- Recovery or the orchestrator could not read it; it is left for a person.
    stuck        INTEGER NOT NULL DEFAULT 0,
    UNIQUE (run, stage, segment)
) STRICT;
CREATE INDEX tenure_unit_ready ON tenure_unit (pipeline, stage, priority DESC, id) WHERE status = 'READY' AND open = 1;
CREATE INDEX tenure_unit_expires ON tenure_unit (expires_at, token) WHERE status = 'RUNNING' AND stuck = 0;
CREATE INDEX tenure_unit_retry ON tenure_unit (retry_at, id) WHERE retry_at IS NOT NULL AND stuck = 0;
CREATE INDEX tenure_unit_stuck ON tenure_unit (id) WHERE stuck = 1;
-- The stages of a run, apart from what may be a hundred thousand segments.
CREATE INDEX tenure_unit_stages ON tenure_unit (run, id) WHERE segment = '';
CREATE INDEX tenure_unit_segments ON tenure_unit (run, stage, id) WHERE segment <> '';
-- Segments that are not DONE: whether there is one is asked for every join.
CREATE INDEX tenure_unit_undone ON tenure_unit (run, stage) WHERE segment <> '' AND status <> 'DONE';

-- Ended claims: history, and the receipts of L12. They outlive their units, for a stage that is begun anew drops its
-- segments; they go with their run.
CREATE TABLE tenure_unit_attempt (
    run        INTEGER NOT NULL,
    token      INTEGER NOT NULL,
    stage      TEXT NOT NULL,
    segment    TEXT NOT NULL,
    owner      TEXT NOT NULL,
    claimed_at INTEGER NOT NULL,
    ended_at   INTEGER NOT NULL,
    outcome    TEXT NOT NULL,
    verb       TEXT,
    status     TEXT NOT NULL,
    error      TEXT,
    beats      INTEGER NOT NULL,
    last_beat_at INTEGER,
    longest_gap_ms INTEGER NOT NULL,
    PRIMARY KEY (run, token)
) STRICT, WITHOUT ROWID;

CREATE TABLE tenure_unit_event (
    id      INTEGER PRIMARY KEY AUTOINCREMENT,
    run     INTEGER NOT NULL,
    at      INTEGER NOT NULL,
    -- Where repetitions were counted: when it first happened.
    first_at INTEGER,
    -- Empty is the run itself.
    stage   TEXT NOT NULL,
    segment TEXT NOT NULL,
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
CREATE INDEX tenure_unit_event_run ON tenure_unit_event (run, id);
CREATE UNIQUE INDEX tenure_unit_event_refused ON tenure_unit_event (run, stage, segment, token, lost) WHERE what = 'refused';

-- Who may do what (P2): a transition that is not on the list is refused, whoever asks for it.
CREATE TRIGGER tenure_unit_transition BEFORE UPDATE OF status ON tenure_unit
WHEN OLD.status <> NEW.status AND (OLD.status || '>' || NEW.status) NOT IN (
    'NEW>READY', 'NEW>ERROR', 'READY>RUNNING', 'READY>ERROR', 'RUNNING>DONE', 'RUNNING>ERROR', 'RUNNING>READY',
    'RUNNING>NEW', 'ERROR>READY', 'ERROR>NEW', 'DONE>READY', 'DONE>NEW')
BEGIN
    SELECT RAISE(ABORT, 'a stage must not make this transition (P2)');
END;

-- A claim draws a larger token, and nothing ever takes one back (L2).
CREATE TRIGGER tenure_unit_token BEFORE UPDATE ON tenure_unit
WHEN OLD.token IS NOT NULL AND (NEW.token IS NULL OR NEW.token < OLD.token
     OR (NEW.token = OLD.token AND OLD.status = 'READY' AND NEW.status = 'RUNNING'))
BEGIN
    SELECT RAISE(ABORT, 'the token of a stage must grow with every claim (L2)');
END;

-- Units as they are read.
CREATE VIEW tenure_unit_shown AS
    SELECT id, run, pipeline, stage, segment, needs, priority, lease_ms, attempts_max, backoff, segmented, split, status, reason,
           retry_at, attempt, input, output, error, progress, record, token, owner, granted_ms, granted_at, expires_at, beats,
           last_beat_at, longest_gap_ms, changed_at
    FROM tenure_unit;

-- The stages in the words of their document (Q11).
CREATE VIEW tenure_stages AS
    SELECT id, run, pipeline, stage, nullif(segment, '') AS segment, status, reason, attempt,
           owner AS lease_owner,
           strftime('%Y-%m-%dT%H:%M:%S', expires_at / 1000000, 'unixepoch') || printf('.%06dZ', expires_at % 1000000)
               AS lease_expires_at,
           strftime('%Y-%m-%dT%H:%M:%S', changed_at / 1000000, 'unixepoch') || printf('.%06dZ', changed_at % 1000000) AS updated_at
      FROM tenure_unit;
