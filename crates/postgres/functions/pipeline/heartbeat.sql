-- Renews the lease of a unit, and records its outputs (P7).
-- Guard  owner, token and an unexpired lease; the row is locked before the clock is read (L5).
-- Reply  the new expiry, or why the lease is lost.
-- Locks  the unit, if this is its holder: nobody else waits for one who is.
create or replace function tenure.beat_unit(
    of_run bigint, of_stage text, of_segment text, by_owner text, under_token bigint, with_progress text,
    with_record text, out lease_expires_at timestamptz, out lost text
) language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    now timestamptz;
    judged record;
begin
    perform tenure.durably();
    perform tenure.only_json('progress', array[with_progress]);
    perform from tenure.unit x
      where x.run = of_run and x.stage = of_stage and x.segment = of_segment
        and x.status = 'RUNNING' and x.token = under_token and x.owner = by_owner
        for update;
    now := tenure.clock();
    select * into judged from tenure.unit_judge(of_run, of_stage, of_segment, by_owner, under_token, null, now);
    if judged.lost is not null then
        lost := judged.lost;
        return;
    end if;
    update tenure.unit x
       set expires_at = greatest(x.expires_at, tenure.later(now, x.granted_ms)),
           beats = x.beats + 1, last_beat_at = now,
           longest_gap_ms = greatest(x.longest_gap_ms,
               floor(extract(epoch from now - coalesce(x.last_beat_at, x.granted_at)) * 1000)::bigint),
           progress = coalesce(with_progress, x.progress), record = coalesce(with_record, x.record),
           record_token = case when with_record is null then x.record_token else under_token end
     where x.run = of_run and x.stage = of_stage and x.segment = of_segment
    returning x.expires_at into lease_expires_at;
end $$;
