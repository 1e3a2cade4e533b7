-- 0003_domain: exclusive, ordered work per key.
--
-- A domain is one row: its settings, the lease of the offset in flight, and the range of ended offsets that grew last.
-- While offsets end in order and none waits, a call reads and writes this row alone.
-- What does not fit there is in tables of its own, by the row's number: other ranges, what waits, events.

CREATE TABLE tenure_domain (
    id            INTEGER PRIMARY KEY,
    name          TEXT NOT NULL UNIQUE,
    created_at    INTEGER NOT NULL,
    max_retries   INTEGER NOT NULL DEFAULT 3 CHECK (max_retries BETWEEN 0 AND 1000),
    takeovers_max INTEGER CHECK (takeovers_max BETWEEN 1 AND 1000),
    -- The last token drawn here, and that of the lease if there is one (L2, D5).
    last_token    INTEGER NOT NULL DEFAULT 0,
    -- The lease; nothing is in flight where the offset is NULL.
    current_offset INTEGER CHECK (current_offset >= 0),
    acquired_at    INTEGER,
    retry_count    INTEGER NOT NULL DEFAULT 0,
    takeovers      INTEGER NOT NULL DEFAULT 0,
    holder         TEXT,
    lease_ms       INTEGER,
    expires_at     INTEGER,
    -- Whether the event of this expiry was written (L7).
    expiry_told    INTEGER NOT NULL DEFAULT 0 CHECK (expiry_told IN (0, 1)),
    -- The range of ended offsets that grew last, and how many others are in tenure_domain_range; then those of the failed ones.
    ended_from     INTEGER,
    ended_to       INTEGER,
    ended_others   INTEGER NOT NULL DEFAULT 0,
    failed_from    INTEGER,
    failed_to      INTEGER,
    failed_others  INTEGER NOT NULL DEFAULT 0,
    backlog_len    INTEGER NOT NULL DEFAULT 0 CHECK (backlog_len >= 0),
    -- The last numbers given to a waiting offset and to an event.
    waiting_seq    INTEGER NOT NULL DEFAULT 0,
    event_seq      INTEGER NOT NULL DEFAULT 0,
    CHECK ((current_offset IS NULL) = (acquired_at IS NULL)),
    CHECK ((lease_ms IS NULL) = (expires_at IS NULL)),
    CHECK ((ended_from IS NULL) = (ended_to IS NULL)),
    CHECK ((failed_from IS NULL) = (failed_to IS NULL))
) STRICT;
-- Leases whose expiry nobody has told, the longest ago first.
CREATE INDEX tenure_domain_expiry ON tenure_domain (expires_at, name) WHERE expires_at IS NOT NULL AND expiry_told = 0;
-- Those that want a look, by name.
CREATE INDEX tenure_domain_leased ON tenure_domain (name) WHERE expires_at IS NOT NULL;
CREATE INDEX tenure_domain_backlogged ON tenure_domain (name) WHERE backlog_len > 0;

-- Offsets that ended, processed or failed, as ranges that neither overlap nor touch (D6); both ends are inside. And of these
-- the ones that failed for good or were skipped.
CREATE TABLE tenure_domain_range (
    domain      INTEGER NOT NULL,
    failed      INTEGER NOT NULL CHECK (failed IN (0, 1)),
    from_offset INTEGER NOT NULL,
    to_offset   INTEGER NOT NULL CHECK (to_offset >= from_offset),
    PRIMARY KEY (domain, failed, from_offset)
) STRICT, WITHOUT ROWID;

-- The backlog, in the order of arrival.
CREATE TABLE tenure_domain_waiting (
    domain        INTEGER NOT NULL,
    seq           INTEGER NOT NULL,
    waiting_offset INTEGER NOT NULL,
    since         INTEGER NOT NULL,
    PRIMARY KEY (domain, seq)
) STRICT, WITHOUT ROWID;
-- An offset waits once.
CREATE UNIQUE INDEX tenure_domain_waiting_once ON tenure_domain_waiting (domain, waiting_offset);

-- What went otherwise than well, the last hundred of each domain (L8).
CREATE TABLE tenure_domain_event (
    domain       INTEGER NOT NULL,
    seq          INTEGER NOT NULL,
    at           INTEGER NOT NULL,
    what         TEXT NOT NULL,
    event_offset INTEGER,
    token        INTEGER,
    holder       TEXT,
    nth          INTEGER,
    -- Who acted, of an operator's act.
    by           TEXT,
    PRIMARY KEY (domain, seq)
) STRICT, WITHOUT ROWID;

-- Refused writes, counted by token and by the code of the refusal (L8). What is no token at all is 0.
CREATE TABLE tenure_domain_refusal (
    domain INTEGER NOT NULL,
    code   TEXT NOT NULL,
    at     INTEGER NOT NULL,
    -- The first time, if there was another.
    first_at INTEGER,
    verb   TEXT NOT NULL,
    token  INTEGER NOT NULL,
    count  INTEGER NOT NULL DEFAULT 1,
    PRIMARY KEY (domain, code, token)
) STRICT, WITHOUT ROWID;

-- Domains as anyone may see them.
CREATE VIEW tenure_domain_shown AS
    SELECT d.name, d.created_at, d.max_retries, d.takeovers_max, d.current_offset, d.holder, d.acquired_at, d.retry_count,
           d.takeovers, d.lease_ms, d.expires_at, d.backlog_len,
           (SELECT w.waiting_offset FROM tenure_domain_waiting w WHERE w.domain = d.id ORDER BY w.seq LIMIT 1) AS head,
           (SELECT w.since FROM tenure_domain_waiting w WHERE w.domain = d.id ORDER BY w.seq LIMIT 1) AS since
    FROM tenure_domain d;

-- Domains in the words of their document (Q11). Idle ones have no current offset.
CREATE VIEW tenure_work_leases AS
    SELECT name AS domain_id,
           current_offset,
           CASE WHEN current_offset IS NOT NULL THEN CAST(last_token AS TEXT) END AS token,
           acquired_at / 1000 AS acquired_at_millis,
           CASE WHEN current_offset IS NOT NULL THEN retry_count END AS retry_count,
           holder,
           strftime('%Y-%m-%dT%H:%M:%S', expires_at / 1000000, 'unixepoch') || printf('.%06dZ', expires_at % 1000000)
               AS lease_expires_at,
           backlog_len AS backlog_length, max_retries,
           strftime('%Y-%m-%dT%H:%M:%S', created_at / 1000000, 'unixepoch') || printf('.%06dZ', created_at % 1000000) AS created_at
    FROM tenure_domain;
