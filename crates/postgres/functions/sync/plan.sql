-- Plans (S4, S6). Whoever plans or adds holds the sync's row, so places in the plan are given out one after the other.

-- Puts chunks at the end of a plan. One of an earlier pass is taken over: token, last sync, rows and cursor stay; those
-- the plan has already stay as they are.
create or replace function tenure.sync_lay(
    the tenure.sync_job, hashes text[], payloads text[], now timestamptz,
    out planned bigint, out added bigint, out skipped bigint
) language plpgsql as $$
declare
    synced_after timestamptz := now - the.skip_if_synced_within_ms * interval '1 millisecond';
begin
    with laid as (
        insert into tenure.sync_chunk as c (matrix_id, chunk_hash, sync, ord, attempts_max, payload)
        select the.matrix_id, n.hash, the.id, the.planned + row_number() over (order by n.ord), the.attempts_max, n.payload
          from unnest(hashes, payloads) with ordinality as n(hash, payload, ord)
         where not exists (select from tenure.sync_chunk k
                            where k.matrix_id = the.matrix_id and k.chunk_hash = n.hash and k.sync = the.id)
        on conflict (matrix_id, chunk_hash) do update
           set sync = excluded.sync, ord = excluded.ord, attempts_max = excluded.attempts_max,
               payload = excluded.payload, attempt = 0, claimed_at = null, locked_by = null, locked_until = null,
               lease_ms = null, told = false, beats = 0, last_beat_at = null, longest_gap_ms = 0, failed_at = null,
               error_message = null, reason = null,
               completed_at = case when c.last_synced_at > synced_after then now end
        returning c.completed_at is not null as skipped
    )
    select count(*), count(*) filter (where l.skipped) into added, skipped from laid l;
    planned := the.planned + added;
    update tenure.sync_job j set planned = sync_lay.planned where j.id = the.id and added > 0;
end $$;

-- Plans a pass with its chunks, all or none.
-- Reply  its id and what was planned; or the sync of that matrix that has not ended.
create or replace function tenure.plan_sync(
    of_matrix text, of_priority integer, skip_ms bigint, of_attempts_max integer, of_crashes_max integer,
    hashes text[], payloads text[],
    out id bigint, out planned bigint, out added bigint, out skipped bigint, out unfinished bigint
) language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    now timestamptz := tenure.clock();
    the tenure.sync_job;
begin
    perform tenure.durably();
    perform tenure.only_json('payload', payloads);
    loop
        insert into tenure.sync_job as j (created_at, matrix_id, priority, skip_if_synced_within_ms, attempts_max,
                                          crashes_max)
        values (now, of_matrix, of_priority, skip_ms, of_attempts_max, of_crashes_max)
        on conflict (matrix_id) where completed_at is null and failed_at is null do nothing
        returning j.* into the;
        exit when found;
        select j.id into unfinished from tenure.sync_job j
         where j.matrix_id = of_matrix and j.completed_at is null and j.failed_at is null;
        -- It may have ended between the two statements.
        if found then
            return;
        end if;
    end loop;
    id := the.id;
    select l.planned, l.added, l.skipped into planned, added, skipped
      from tenure.sync_lay(the, hashes, payloads, now) l;
end $$;

-- Adds chunks to a sync that has not ended.
create or replace function tenure.add_chunks(
    of_sync bigint, hashes text[], payloads text[],
    out planned bigint, out added bigint, out skipped bigint, out refusal text
) language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    the tenure.sync_job;
begin
    perform tenure.durably();
    perform tenure.only_json('payload', payloads);
    select j.* into the from tenure.sync_job j where j.id = of_sync for no key update;
    if not found then
        refusal := 'not_found';
    elsif the.completed_at is not null or the.failed_at is not null then
        refusal := 'terminal';
    else
        select l.planned, l.added, l.skipped into planned, added, skipped
          from tenure.sync_lay(the, hashes, payloads, tenure.clock()) l;
    end if;
end $$;
