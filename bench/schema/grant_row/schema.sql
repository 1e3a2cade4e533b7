-- grant_row/schema.sql: candidates B and C, one lease row per grant, its token written on the claimed job row.
-- `ready` is partial on the token, so a claim takes the entry out of it and is never HOT. A heartbeat touches `lease` only.
CREATE TABLE job (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    created_at timestamptz NOT NULL,
    run_at     timestamptz NOT NULL,
    token      bigint,
    priority   integer NOT NULL DEFAULT 0,
    attempt    integer NOT NULL DEFAULT 0,
    scheduled  boolean NOT NULL DEFAULT false,
    queue      text NOT NULL,
    kind       text NOT NULL,
    payload    text NOT NULL
);
CREATE INDEX ready ON job (queue, priority DESC, created_at, id) WHERE token IS NULL AND NOT scheduled;
CREATE INDEX due ON job (queue, run_at) WHERE scheduled;
CREATE SEQUENCE token;
CREATE TABLE lease (
    token      bigint PRIMARY KEY,
    granted_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    lease_ms   bigint NOT NULL,
    started    integer NOT NULL DEFAULT 0,
    left_count integer NOT NULL,
    owner      text NOT NULL,
    queue      text NOT NULL,
    units      bigint[] NOT NULL
);
CREATE INDEX expiring ON lease (expires_at);
CREATE TABLE history (
    id          bigint PRIMARY KEY,
    token       bigint NOT NULL,
    created_at  timestamptz NOT NULL,
    claimed_at  timestamptz NOT NULL,
    finished_at timestamptz NOT NULL,
    priority    integer NOT NULL,
    attempt     integer NOT NULL,
    queue       text NOT NULL,
    kind        text NOT NULL,
    status      text NOT NULL,
    owner       text NOT NULL,
    payload     text NOT NULL
);
CREATE TABLE limits (queue text PRIMARY KEY, running_max bigint NOT NULL) WITH (fillfactor = 10);
INSERT INTO limits VALUES ('q', 1000000);
CREATE TABLE epoch (epoch bigint NOT NULL, timeline text NOT NULL);
INSERT INTO epoch VALUES (1, left(pg_walfile_name(pg_current_wal_lsn()), 8));
