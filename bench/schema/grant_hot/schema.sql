-- grant_hot/schema.sql: candidate D, grant rows, and a claim that changes no indexed column so that it can be HOT.
-- No index may mention `token`, not even in its predicate: that alone would make every claim non-HOT. So `fresh` holds all live
-- jobs in arrival order, running ones too, and what comes back out of order (requeued, promoted) is marked `late`.
-- The fillfactor leaves each page room for the claimed versions; the bench sets it before the load.
CREATE TABLE job (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    created_at timestamptz NOT NULL,
    run_at     timestamptz NOT NULL,
    token      bigint,
    priority   integer NOT NULL DEFAULT 0,
    attempt    integer NOT NULL DEFAULT 0,
    scheduled  boolean NOT NULL DEFAULT false,
    late       boolean NOT NULL DEFAULT false,
    queue      text NOT NULL,
    kind       text NOT NULL,
    payload    text NOT NULL
);
CREATE INDEX fresh ON job (queue, priority DESC, created_at, id) WHERE NOT scheduled AND NOT late;
CREATE INDEX late ON job (queue, priority DESC, created_at, id) WHERE NOT scheduled AND late;
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
