-- Looking at one run, for whoever works and may read no table. They run with the rights of their owner.

-- One run, or none.
-- Index  run's key.
create or replace function tenure.show_run(of_run bigint) returns setof tenure.run language sql stable
  security definer set search_path = pg_catalog, pg_temp as $$
    select r.* from tenure.run r where r.id = of_run
$$;

-- A version of a pipeline, the highest unless named; or none.
-- Index  pipeline's key.
create or replace function tenure.show_pipeline(of_name text, of_version integer) returns setof tenure.pipeline
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
    select p.* from tenure.pipeline p
     where p.name = of_name and (of_version is null or p.version = of_version) order by p.version desc limit 1
$$;

-- Segments of a stage, in the order of the split, from after a number on.
-- Index  unit_segments.
create or replace function tenure.show_segments(of_run bigint, of_stage text, after bigint, n_max bigint)
returns setof tenure.unit language sql stable security definer set search_path = pg_catalog, pg_temp as $$
    select u.* from tenure.unit u
     where u.run = of_run and u.stage = of_stage and u.segment <> '' and u.id > show_segments.after order by u.id limit n_max
$$;

-- The stages of a run, in the order of its definition, with the counts of their segments.
-- Index  unit_stages, unit_segments.
create or replace function tenure.show_stages(of_run bigint) returns table (
    id bigint, run bigint, pipeline text, stage text, segment text, needs text[], priority integer, lease_ms bigint,
    attempts_max integer, backoff double precision[], segmented boolean, split boolean, status text, reason text,
    retry_at timestamptz, attempt integer, input text, output text, error text, progress text, record text, token
    bigint, owner text, granted_ms bigint, granted_at timestamptz, expires_at timestamptz, beats integer,
    last_beat_at timestamptz, longest_gap_ms bigint, changed_at timestamptz, segments jsonb
) language sql stable security definer set search_path = pg_catalog, pg_temp as $$
    select u.id, u.run, u.pipeline, u.stage, u.segment, u.needs, u.priority, u.lease_ms, u.attempts_max, u.backoff, u.segmented,
           u.split, u.status, u.reason, u.retry_at, u.attempt, u.input, u.output, u.error, u.progress, u.record, u.token, u.owner,
           u.granted_ms, u.granted_at, u.expires_at, u.beats, u.last_beat_at, u.longest_gap_ms, u.changed_at,
           (select jsonb_object_agg(c.status, c.n)
              from (select s.status, count(*) as n from tenure.unit s
                     where u.split and s.run = u.run and s.stage = u.stage and s.segment <> '' group by s.status) c) as segments
      from tenure.unit u where u.run = of_run and u.segment = '' order by u.id
$$;
