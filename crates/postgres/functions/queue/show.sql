-- Looking at one thing, for whoever works and may read no table. They run with the rights of their owner.

-- Jobs, finished or not.
-- Reply    no row for what is not on record. `attempts` are the ended ones; of a finished job all but the last.
-- Indexes  job_pkey, finished_pkey, lease_pkey, note_pkey.
create or replace function tenure.show_job(variadic ids bigint[]) returns table (
    id bigint, queue text, kind text, payload text, priority integer, created_at timestamptz, run_at timestamptz,
    attempt integer, attempts_max integer, backoff double precision[], timeout_ms bigint, ordering_key text,
    limit_key text, cancel_requested boolean, status text, reason text, result text, error text, progress text,
    checkpoint text, token bigint, attempts jsonb, owner text, claimed_at timestamptz, lease_ms bigint,
    expires_at timestamptz, beats integer, last_beat_at timestamptz, longest_gap_ms bigint, finished_at timestamptz,
    outcome text, verb text, final_error text
) language sql stable security definer set search_path = pg_catalog, pg_temp as $$
    select j.id, j.queue, j.kind, j.payload, j.priority, j.created_at, j.run_at, j.attempt, j.attempts_max, j.backoff,
           j.timeout_ms, j.ordering_key, j.limit_key, j.cancel_requested,
           case when j.running then 'running' else 'queued' end, null, null, j.error, n.progress, n.checkpoint,
           j.token, j.attempts, l.owner, l.granted_at, l.lease_ms, l.expires_at, l.beats, l.last_beat_at,
           l.longest_gap_ms, null, null, null, null
      from tenure.job j
      left join tenure.lease l on j.running and l.token = j.token
      left join tenure.note n on n.job = j.id
     where j.id = any (ids)
    union all
    select f.id, f.queue, f.kind, f.payload, f.priority, f.created_at, f.run_at, f.attempt, f.attempts_max, f.backoff,
           f.timeout_ms, f.ordering_key, f.limit_key, false, f.status, f.reason, f.result, f.error, f.progress,
           f.checkpoint, f.token, f.attempts, f.owner, f.claimed_at, null, null, f.beats, f.last_beat_at,
           f.longest_gap_ms, f.finished_at, f.outcome, f.verb, case when f.own_error then f.error end
      from tenure.finished f
     where f.id = any (ids)
$$;

-- Queues by name, with their counts.
-- Parameters  `only_this` one, or null; only names `after` this, or null; `n_max` at most; `count_to` is where counting stops.
-- Reply       counts are exact up to `count_to` - 1.
-- Indexes     queue_pkey, job_queue, lease_expiry, finished_queue; each count reads at most `count_to` entries of its state.
create or replace function tenure.list_queues(only_this text, after text, n_max bigint, count_to bigint) returns table (
    name text, created_at timestamptz, paused boolean, max_running integer, max_running_per_key integer,
    lane_on_failure text, retention_ms bigint, rate_max integer, rate_period_ms bigint, key_rate_max integer,
    key_rate_period_ms bigint, queued bigint, running bigint, completed bigint, failed bigint, oldest_queued_at
    timestamptz
) language sql stable security definer set search_path = pg_catalog, pg_temp as $$
    select q.name, q.created_at, q.paused, q.max_running, q.max_running_per_key, q.lane_on_failure, q.retention_ms,
           q.rate_max, q.rate_period_ms, q.key_rate_max, q.key_rate_period_ms,
           c.queued, c.running, c.completed, c.failed, c.oldest_queued_at
      from tenure.known_queues(only_this, list_queues.after, n_max) q,
           tenure.count_up_to(q.name, count_to) c
     order by q.name
$$;

-- The limit of the whole engine; null is none (Q8).
create or replace function tenure.engine_limit() returns integer language sql stable security definer set search_path = pg_catalog, pg_temp as $$
    select e.max_running from tenure.engine e
$$;

-- Which version of the schema this is, and which release laid out its functions.
create or replace function tenure.installed() returns table (version bigint, release text, digest text)
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
    select (select coalesce(max(m.version), 0)::bigint from tenure.migration m), f.release,
           -- Dropped by hand, or lost by a restore of some: what is left is no release's.
           case when exists (select from unnest(f.names) as n(name) where to_regprocedure(n.name) is null)
                then 'in parts' else f.digest end
      from (select) one left join tenure.functions f on true
$$;
