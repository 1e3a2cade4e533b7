-- row_lease/schema.sql: candidate A, the lease is three columns of the job row.
-- `ready` moves with every claim; `leased` moves with every claim and every heartbeat, and recovery and W need it.
CREATE TABLE job (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    created_at timestamptz NOT NULL,
    run_at     timestamptz NOT NULL,
    expires_at timestamptz,
    claimed_at timestamptz,
    token      bigint,
    priority   integer NOT NULL DEFAULT 0,
    attempt    integer NOT NULL DEFAULT 0,
    scheduled  boolean NOT NULL DEFAULT false,
    queue      text NOT NULL,
    kind       text NOT NULL,
    owner      text,
    payload    text NOT NULL
);
CREATE INDEX ready ON job (queue, priority DESC, created_at, id) WHERE token IS NULL AND NOT scheduled;
CREATE INDEX leased ON job (queue, expires_at) WHERE token IS NOT NULL;
CREATE SEQUENCE token;
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
