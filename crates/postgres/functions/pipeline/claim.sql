-- Takes units that are READY, by priority and age, after returning those of these stages whose lease ran out.
-- Parameters  `for_ms` null is each stage's own lease.
-- Reply       the units, each with what its input is made of; one row of nulls with `absent` if no version of the
--             pipeline has one of the stages.
-- Locks       the units it takes, and waits for nobody: what another is busy with is passed over. Whether a unit may be
--             handed out is asked once more under its lock: what became READY while its stage failed, or its run was
--             paused or ended, is closed instead. From then on nobody settles or cancels the run without this claim.
-- Index       unit_ready, one range for each stage. The token is drawn after the row is locked, the clock read then too.
create or replace function tenure.claim_units(
    of_pipeline text, of_stages text[], by_owner text, n_max integer, for_ms bigint, recover_max integer
) returns table (
    run bigint, version integer, stage text, segment text, join_now boolean, segmented boolean, own_input text,
    run_input text, needs text[], outputs text[], attempt integer, attempts_max integer, token bigint,
    lease_expires_at timestamptz, lease_ms bigint, record text, absent boolean
) language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
#variable_conflict use_column
declare
    now timestamptz;
    ids bigint[] := '{}';
    found_ids bigint[];
    shut bigint[];
    s text;
begin
    perform tenure.durably();
    if exists (select from unnest(of_stages) as n(name)
                where not exists (select from tenure.pipeline_stage p where p.pipeline = of_pipeline and p.stage = n.name))
    then
        return query select null::bigint, null::integer, null::text, null::text, null::boolean, null::boolean, null::text,
                            null::text, null::text[], null::text[], null::integer, null::integer, null::bigint,
                            null::timestamptz, null::bigint, null::text, true;
        return;
    end if;
    perform tenure.recover_pipeline(recover_max, of_pipeline, of_stages);
    foreach s in array of_stages loop
        loop
            found_ids := array(select x.id from tenure.unit x
                                where x.pipeline = of_pipeline and x.stage = s and x.status = 'READY' and x.open
                                order by x.priority desc, x.id limit n_max for update skip locked);
            shut := array(select x.id from tenure.unit x join tenure.run r on r.id = x.run
                           where x.id = any (found_ids)
                             and (r.status <> 'RUNNING' or r.paused
                                  or (x.segment <> '' and exists (
                                          select from tenure.unit f where f.run = x.run and f.stage = x.stage
                                             and f.segment = '' and f.reason is not null))));
            exit when shut = '{}';
            update tenure.unit x set open = false where x.id = any (shut);
        end loop;
        ids := ids || found_ids;
    end loop;
    -- Those beyond the first `n_max` of all stages, or beyond what a claim may carry (core's CLAIM_BYTES_MAX, of inputs as
    -- they are composed; at least one), are let go of when this ends.
    ids := array(
        select f.id
          from (select x.id, row_number() over w as nth,
                       sum(case when x.segment <> '' then coalesce(octet_length(x.input), 4)
                                when x.needs = '{}' then octet_length(r.input)
                                else (select case when count(*) = 1 then max(coalesce(octet_length(o.output), 4))
                                                  else 1 + sum(octet_length(n.name) + 4 + coalesce(octet_length(o.output), 4)) end
                                        from unnest(x.needs) as n(name)
                                        left join tenure.unit o on o.run = x.run and o.stage = n.name and o.segment = '')
                           end) over w as bytes
                  from (select x.* from tenure.unit x where x.id = any (ids)
                         order by x.priority desc, x.id limit n_max) x
                  join tenure.run r on r.id = x.run
                window w as (order by x.priority desc, x.id)) f
         where f.bytes <= 16777216 or f.nth = 1
         order by f.nth);
    now := tenure.clock();
    return query
        with drawn as (
            select t.id, t.token from unnest(ids, tenure.draw_tokens(cardinality(ids))) as t(id, token)
        ), granted as (
            update tenure.unit x
               set status = 'RUNNING', open = false, token = d.token, attempt = x.attempt + 1, owner = by_owner,
                   granted_ms = coalesce(for_ms, x.lease_ms), granted_at = now,
                   expires_at = tenure.later(now, coalesce(for_ms, x.lease_ms)), changed_at = now
              from drawn d
             where x.id = d.id
            returning x.*
        )
        select g.run, r.version, g.stage, nullif(g.segment, ''), g.split, g.segmented, g.input,
               case when g.segment = '' and g.needs = '{}' then r.input end,
               g.needs,
               array(select o.output from unnest(g.needs) with ordinality as n(name, ord)
                       left join tenure.unit o on o.run = g.run and o.stage = n.name and o.segment = '' order by n.ord),
               g.attempt, g.attempts_max, g.token, g.expires_at, g.granted_ms, g.record, false
          from granted g join tenure.run r on r.id = g.run
         order by g.token;
end $$;
