-- Renews the leases of units, and records their outputs (P7), each answered on its own.
-- Parameters  `asked`: an array of objects with the fields of `unit_beat`, no unit twice; a segment is empty for the stage
--             itself.
-- Guard       owner, token and an unexpired lease; the rows are locked, in the order of their numbers, before the clock
--             is read (L5).
-- Reply       the new expiry, or why the lease is lost; refusals are told in the order of the heartbeats.
-- Locks       units that their holders name: nobody else waits for one who is.
-- Index       the key of a unit: (run, stage, segment).
create or replace function tenure.beat_units(asked jsonb)
returns table (ord bigint, lease_expires_at timestamptz, lost text) language plpgsql
  security definer set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off
as $$
#variable_conflict use_column
declare
    sent tenure.unit_beat[] := array(select b from jsonb_populate_recordset(null::tenure.unit_beat, asked) b);
    now timestamptz;
    quick record;
begin
    perform tenure.durably();
    perform tenure.only_json('progress', array(select b.progress from unnest(sent) b));
    perform from (
        select x.id
          from unnest(sent) i
          join tenure.unit x on x.run = i.run and x.stage = i.stage and x.segment = i.segment
         where x.status = 'RUNNING' and x.token = i.token and x.owner = i.owner
         order by x.id for update of x
    ) locked;
    now := tenure.clock();
    with renewed as (
        update tenure.unit x
           set expires_at = greatest(x.expires_at, tenure.later(now, x.granted_ms)),
               beats = x.beats + 1, last_beat_at = now,
               longest_gap_ms = greatest(x.longest_gap_ms,
                   floor(extract(epoch from now - coalesce(x.last_beat_at, x.granted_at)) * 1000)::bigint),
               progress = coalesce(i.progress, x.progress), record = coalesce(i.record, x.record),
               record_token = case when i.record is null then x.record_token else i.token end
          from unnest(sent) with ordinality as i(run, stage, segment, owner, token, progress, record, ord)
         where x.run = i.run and x.stage = i.stage and x.segment = i.segment
           and x.status = 'RUNNING' and x.token = i.token and x.owner = i.owner and x.expires_at > now
        returning i.ord, x.expires_at
    )
    select array_agg(r.ord) as ords, array_agg(r.expires_at) as untils into quick from renewed r;
    return query select q.ord, q.until, null::text from unnest(quick.ords, quick.untils) as q(ord, until);
    if coalesce(cardinality(quick.ords), 0) < cardinality(sent) then
        return query
            select i.ord, null::timestamptz, j.lost
              from (select * from unnest(sent) with ordinality as i(run, stage, segment, owner, token, progress, record, ord)
                     where quick.ords is null or i.ord <> all (quick.ords)
                     order by i.ord) i,
                   tenure.unit_judge(i.run, i.stage, i.segment, i.owner, i.token, null, now) j;
    end if;
end $$;
