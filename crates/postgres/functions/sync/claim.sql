-- Claims: of the first sync by priority and age (S2), of the next chunk or a named one (S3).
-- What ran out is written down first (L7), and what ran out too often ends here. Rows are locked, then the clock is read,
-- then the token is drawn (L5, L2).

-- Takes the first sync that waits or whose lease ran out; no row if there is none.
-- Locks   the sync's row, which claims of its chunks do not wait for.
-- Index   sync_job_waiting, sync_job_locked, sync_job_unfinished
create or replace function tenure.claim_sync(of_owner text, of_lease_ms bigint, of_matrix text)
returns setof tenure.sync_job language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    the tenure.sync_job;
    first tenure.sync_job;
    lapsed tenure.sync_job;
    passed bigint[] := '{}';
    ended boolean;
    now timestamptz;
    drawn bigint;
begin
    perform tenure.durably();
    loop
        the := null;
        if of_matrix is not null then
            select j.* into the from tenure.sync_job j
             where j.matrix_id = of_matrix and j.completed_at is null and j.failed_at is null for no key update;
        else
            -- Looked at without a lock: what is locked and then not taken would be missing to others.
            select j.* into lapsed from tenure.sync_job j where j.locked_until <= tenure.clock() and j.id <> all (passed)
             order by j.priority desc, j.created_at, j.id limit 1;
            if lapsed.id is not null then
                select j.* into first from tenure.sync_job j
                 where j.completed_at is null and j.failed_at is null and j.locked_until is null
                 order by j.priority desc, j.created_at, j.id limit 1;
            end if;
            if lapsed.id is null or (-first.priority::bigint, first.created_at, first.id)
                                    < (-lapsed.priority::bigint, lapsed.created_at, lapsed.id) then
                select j.* into the from tenure.sync_job j
                 where j.completed_at is null and j.failed_at is null and j.locked_until is null
                 order by j.priority desc, j.created_at, j.id limit 1 for no key update skip locked;
            end if;
            if the.id is null and lapsed.id is not null then
                select j.* into the from tenure.sync_job j
                 where j.id = lapsed.id and j.locked_until <= tenure.clock() for no key update skip locked;
                if the.id is null then
                    passed := passed || lapsed.id;
                    continue;
                end if;
            end if;
        end if;
        if the.id is null then
            return;
        end if;
        now := tenure.clock();
        if the.locked_until > now then
            return;
        end if;
        if the.locked_until is not null then
            begin
                ended := tenure.sync_tell_job(the, now);
            exception when others then
                if of_matrix is not null then
                    raise;
                end if;
                raise warning 'tenure: sync % could not be recovered: %', the.id, sqlerrm;
                ended := null;
            end;
            if ended is null then
                -- It may have crashed too often, and cannot be judged while somebody is at one of its chunks; or its row
                -- is a bad one, which keeps nobody from the others (L7).
                if of_matrix is not null then
                    return;
                end if;
                passed := passed || the.id;
                continue;
            elsif ended then
                continue;
            end if;
            perform tenure.sync_remember(the.id, '', the.token, the.locked_by, null, null, false, now);
        end if;
        drawn := (tenure.draw_tokens(1))[1];
        return query
            update tenure.sync_job j
               set token = drawn, claimed_at = now, locked_by = of_owner, locked_until = tenure.later(now, of_lease_ms),
                   lease_ms = of_lease_ms, told = false, beats = 0, last_beat_at = null, longest_gap_ms = 0
             where j.id = the.id and j.token is not distinct from the.token
            returning j.*;
        return;
    end loop;
end $$;

-- Finds and locks the next chunk of a sync that waits or whose lease ran out, in the order of the plan.
-- Parameters  `after_ord`: fresh chunks are looked for behind this place, where this process last found one.
-- Index       sync_chunk_fresh, sync_chunk_late, sync_chunk_locked. The plans are pinned, for the planner, not knowing how
--             few rows are in a partial index, would rather read the whole sync.
create or replace function tenure.sync_next(of_sync bigint, after_ord bigint, passed bigint[])
returns setof tenure.sync_chunk language plpgsql
  set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off
as $$
declare
    back bigint;
    lapsed bigint;
    fresh bigint;
    c tenure.sync_chunk;
begin
    loop
        back := (select k.ord from tenure.sync_chunk k
                  where k.sync = of_sync and k.claimed_at is not null and k.locked_until is null
                    and k.completed_at is null and k.failed_at is null and k.ord <> all (passed)
                  order by (-k.ord) desc limit 1);
        -- Gathered first: a bare minimum would be looked for along sync_chunk_place.
        lapsed := (select min(l.ord) from (select k.ord from tenure.sync_chunk k
                                            where k.sync = of_sync and k.locked_until is not null
                                              and k.locked_until <= tenure.clock() and k.ord <> all (passed)
                                            order by k.locked_until offset 0) l);
        back := least(back, lapsed);
        if back is not null then
            fresh := (select k.ord from tenure.sync_chunk k
                       where k.sync = of_sync and k.claimed_at is null and k.completed_at is null and k.failed_at is null
                         and (-k.ord) < -after_ord
                       order by (-k.ord) desc limit 1);
        end if;
        if back is null or fresh < back then
            return query
                select k.* from tenure.sync_chunk k
                 where k.sync = of_sync and k.claimed_at is null and k.completed_at is null and k.failed_at is null
                   and (-k.ord) < -after_ord
                 order by (-k.ord) desc limit 1 for update skip locked;
            if found or back is null then
                return;
            end if;
        end if;
        select k.* into c from tenure.sync_chunk k
         where k.sync = of_sync and k.ord = back and k.completed_at is null and k.failed_at is null
           for update skip locked;
        if found and (c.locked_until is null or c.locked_until <= tenure.clock()) then
            return next c;
            return;
        end if;
        passed := passed || back;
    end loop;
end $$;

-- Takes the next chunk of a sync, or the one that is named.
-- Locks   the sync's row only against its end, so that any number of claims go side by side with its heartbeats.
-- Reply   the chunk; or a row with `idle` and, where others hold what is left, when the next lease runs out.
create or replace function tenure.claim_chunk(
    of_sync bigint, of_owner text, of_lease_ms bigint, hash text, after_ord bigint,
    out matrix_id text, out chunk_hash text, out ord bigint, out payload text, out attempt integer,
    out attempts_max integer, out token bigint, out lease_expires_at timestamptz, out last_synced_at timestamptz,
    out row_count bigint, out cursor text, out idle text, out until timestamptz, out now timestamptz
) language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    the tenure.sync_job;
    c tenure.sync_chunk;
    taken boolean;
    waits boolean;
    ended boolean;
    passed bigint[] := '{}';
    drawn bigint;
begin
    perform tenure.durably();
    select j.* into the from tenure.sync_job j where j.id = of_sync for key share;
    if not found then
        idle := 'unknown';
        return;
    end if;
    if the.completed_at is not null or the.failed_at is not null then
        idle := 'ended';
        return;
    end if;
    loop
        if hash is not null then
            select k.* into c from tenure.sync_chunk k
             where k.matrix_id = the.matrix_id and k.chunk_hash = hash and k.sync = of_sync for update skip locked;
            taken := found;
            if not taken then
                select k.* into c from tenure.sync_chunk k
                 where k.matrix_id = the.matrix_id and k.chunk_hash = hash and k.sync = of_sync;
            end if;
            now := tenure.clock();
            if c.ord is null then
                idle := 'unknown';
            elsif c.completed_at is not null or c.failed_at is not null then
                idle := 'done';
            elsif c.locked_until > now then
                idle := 'held';
                until := c.locked_until;
            elsif not taken then
                idle := 'held';
            end if;
            if idle is not null then
                return;
            end if;
        else
            select k.* into c from tenure.sync_next(of_sync, after_ord, passed) k;
            if not found and after_ord > 0 then
                -- Nothing is said to be done before a full look.
                select k.* into c from tenure.sync_next(of_sync, 0, passed) k;
            end if;
            now := tenure.clock();
            if c.ord is null then
                select l.until, l.waits into until, waits from tenure.sync_left(of_sync) l;
                idle := case when until is not null or waits then 'held' else 'done' end;
                return;
            end if;
        end if;
        if c.locked_until is not null then
            begin
                ended := tenure.sync_tell_chunk(c, now);
            exception when others then
                if hash is not null then
                    raise;
                end if;
                raise warning 'tenure: a chunk of sync % could not be recovered: %', of_sync, sqlerrm;
                passed := passed || c.ord;
                ended := true;
            end;
            if ended then
                c := null;
                continue;
            end if;
            perform tenure.sync_remember(of_sync, c.chunk_hash, c.token, c.locked_by, null, null, false, now);
        end if;
        drawn := (tenure.draw_tokens(1))[1];
        lease_expires_at := tenure.later(now, of_lease_ms);
        update tenure.sync_chunk k
           set token = drawn, claimed_at = claim_chunk.now, locked_by = of_owner,
               locked_until = claim_chunk.lease_expires_at, lease_ms = of_lease_ms, told = false, beats = 0,
               last_beat_at = null, longest_gap_ms = 0, attempt = c.attempt + 1
         where k.matrix_id = c.matrix_id and k.chunk_hash = c.chunk_hash and k.token is not distinct from c.token;
        matrix_id := c.matrix_id; chunk_hash := c.chunk_hash; ord := c.ord; payload := c.payload;
        attempt := c.attempt + 1; attempts_max := c.attempts_max; token := drawn;
        last_synced_at := c.last_synced_at; row_count := c.row_count; cursor := c.cursor;
        return;
    end loop;
end $$;

-- What is left of a sync, though another claim may have its row locked at this moment: when the first lease runs out,
-- and whether a chunk waits. One statement: between two, a chunk that waits for the one may be leased for the other.
create or replace function tenure.sync_left(of_sync bigint, out until timestamptz, out waits boolean)
language sql stable
  set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set jit = off
as $$
    select (select k.locked_until from tenure.sync_chunk k
             where k.sync = of_sync and k.locked_until is not null order by k.locked_until limit 1),
           (select k.ord from tenure.sync_chunk k
             where k.sync = of_sync and k.claimed_at is null and k.completed_at is null and k.failed_at is null
             order by (-k.ord) desc limit 1) is not null
        or (select k.ord from tenure.sync_chunk k
             where k.sync = of_sync and k.claimed_at is not null and k.locked_until is null
               and k.completed_at is null and k.failed_at is null
             order by (-k.ord) desc limit 1) is not null
$$;
