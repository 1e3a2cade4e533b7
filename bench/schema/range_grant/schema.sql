-- range_grant/schema.sql: candidate E, the ceiling: a grant is a range of ids and nothing is written on the job row.
-- What it gives up: a token on the job row to fence by, requeue of one job, priorities, limit keys, lanes, late commits.
CREATE TABLE job (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    created_at timestamptz NOT NULL,
    run_at     timestamptz NOT NULL,
    priority   integer NOT NULL DEFAULT 0,
    attempt    integer NOT NULL DEFAULT 0,
    queue      text NOT NULL,
    kind       text NOT NULL,
    payload    text NOT NULL
);
CREATE SEQUENCE token;
CREATE TABLE head (queue text PRIMARY KEY, id bigint NOT NULL) WITH (fillfactor = 10);
INSERT INTO head VALUES ('q', 0);
CREATE TABLE lease (
    token      bigint PRIMARY KEY,
    first_id   bigint NOT NULL,
    last_id    bigint NOT NULL,
    granted_at timestamptz NOT NULL,
    expires_at timestamptz NOT NULL,
    lease_ms   bigint NOT NULL,
    left_count integer NOT NULL,
    owner      text NOT NULL,
    queue      text NOT NULL
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
