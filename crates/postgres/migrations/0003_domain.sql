-- 0003_domain: exclusive, ordered work per key.
--
-- domain          one row for each: settings, the lease of the offset in flight, the range of ended offsets that grew
--                 last. While offsets end in order and none waits, a call reads and writes this row alone, and moves no
--                 index.
-- domain_range    other ranges of offsets that ended, processed or failed; and of those of them that failed (D6).
-- domain_waiting  the backlogs, in the order of arrival.
-- domain_event    what went otherwise than well, the last hundred of each domain (L8).
-- domain_refusal  refused writes, counted by token and by the code of the refusal (L8). What is no token at all is 0.

create table tenure.domain (
    id bigint generated always as identity primary key,
    created_at timestamptz not null,
    -- The last token drawn here, and that of the lease if there is one (L2, D5).
    last_token bigint not null default 0,
    -- The lease; nothing is in flight where the offset is null.
    current_offset bigint check (current_offset >= 0),
    acquired_at timestamptz,
    lease_ms bigint,
    expires_at timestamptz,
    -- The range of ended offsets that grew last, and the largest of all that ended.
    ended_from bigint,
    ended_to bigint,
    ended_top bigint,
    -- Of those that failed for good or were skipped, likewise the range that grew last.
    failed_from bigint,
    failed_to bigint,
    -- The last numbers given to a waiting offset and to an event.
    waiting_seq bigint not null default 0,
    event_seq bigint not null default 0,
    backlog_len bigint not null default 0 check (backlog_len >= 0),
    -- How many ranges are in domain_range, of all that ended and of those that failed.
    ended_others bigint not null default 0,
    failed_others bigint not null default 0,
    max_retries integer not null default 3 check (max_retries between 0 and 1000),
    takeovers_max integer check (takeovers_max between 1 and 1000),
    retry_count integer not null default 0,
    takeovers integer not null default 0,
    -- Whether the event of this expiry was written (L7).
    expiry_told boolean not null default false,
    name text collate "C" not null unique,
    holder text
) with (fillfactor = 50, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
-- Leases whose expiry nobody has told, the longest ago first.
create index domain_expiry on tenure.domain (expires_at, name) where expires_at is not null and not expiry_told;
-- Those that want a look, by name.
create index domain_leased on tenure.domain (name) where expires_at is not null;
create index domain_backlogged on tenure.domain (name) where backlog_len > 0;

-- Ranges neither overlap nor touch; both ends are inside.
create table tenure.domain_range (
    domain bigint not null,
    -- Of those that failed, or of all that ended.
    failed boolean not null,
    from_offset bigint not null,
    to_offset bigint not null check (to_offset >= from_offset),
    primary key (domain, failed, from_offset)
);

create table tenure.domain_waiting (
    domain bigint not null,
    seq bigint not null,
    waiting_offset bigint not null,
    since timestamptz not null,
    primary key (domain, seq)
) with (autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_cost_delay = 0);
-- An offset waits once.
create unique index domain_waiting_once on tenure.domain_waiting (domain, waiting_offset);

create table tenure.domain_event (
    domain bigint not null,
    seq bigint not null,
    at timestamptz not null,
    event_offset bigint,
    token bigint,
    nth integer,
    what text not null,
    holder text,
    -- Who acted, of an operator's act.
    by text,
    primary key (domain, seq)
);

create table tenure.domain_refusal (
    domain bigint not null,
    at timestamptz not null,
    -- The first time, if there was another.
    first_at timestamptz,
    token bigint not null,
    count bigint not null default 1,
    code text collate "C" not null,
    verb text not null,
    primary key (domain, code, token)
) with (fillfactor = 70);

-- What is asked of one domain. Each verb has fields of its own; the others are null.
create type tenure.domain_ask as (name text, at_offset bigint, token bigint, holder text, lease_ms bigint);

-- Domains in the words of their document (Q11). Idle ones have no current offset.
create view tenure.work_leases as
    select d.name as domain_id,
           d.current_offset,
           case when d.current_offset is not null then d.last_token::text end as token,
           floor(extract(epoch from d.acquired_at) * 1000)::bigint as acquired_at_millis,
           case when d.current_offset is not null then d.retry_count end as retry_count,
           d.holder, d.expires_at as lease_expires_at, d.backlog_len as backlog_length, d.max_retries, d.created_at
      from tenure.domain d;
