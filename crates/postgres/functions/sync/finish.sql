-- The holder's writes: heartbeats and endings, accepted only while held (L3), answered again from receipts (L12).
-- Guard  matrix, hash, owner, token and an unexpired lease. Rows are locked before the clock is read (L5).

-- Renews the lease of a sync (`hash` is '') or a chunk to now plus the time granted at its claim.
-- Reply  the new deadline, or the old one where an open transaction has the chunk, or why it was refused.
create or replace function tenure.heartbeat_sync(
    of_sync bigint, hash text, of_owner text, of_token bigint, out until timestamptz, out lost text
) language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    now timestamptz;
    matrix text;
begin
    perform tenure.durably();
    if hash = '' then
        perform from tenure.sync_job j where j.id = of_sync for no key update;
        now := tenure.clock();
        update tenure.sync_job j
           set locked_until = greatest(j.locked_until, tenure.later(now, j.lease_ms)), beats = j.beats + 1,
               longest_gap_ms = greatest(j.longest_gap_ms,
                                         tenure.sync_gap_ms(coalesce(j.last_beat_at, j.claimed_at), now)),
               last_beat_at = now
         where j.id = of_sync and j.token = of_token and j.locked_by = of_owner and j.locked_until > now
        returning j.locked_until into until;
    else
        matrix := (select j.matrix_id from tenure.sync_job j where j.id = of_sync);
        perform from tenure.sync_chunk c where c.matrix_id = matrix and c.chunk_hash = hash
            for no key update skip locked;
        if not found then
            -- A transaction that has completed the chunk and is still open, most likely the holder's own: no heartbeat waits
            -- for it. The lease is as long as it was.
            now := tenure.clock();
            until := (select c.locked_until from tenure.sync_chunk c
                       where c.matrix_id = matrix and c.chunk_hash = hash and c.sync = of_sync and c.token = of_token
                         and c.locked_by = of_owner and c.locked_until > now);
            if until is null then
                lost := (select coalesce(v.lost, 'finished')
                           from tenure.sync_judge(of_sync, hash, of_owner, of_token, null, now) v);
            end if;
            return;
        end if;
        now := tenure.clock();
        update tenure.sync_chunk c
           set locked_until = greatest(c.locked_until, tenure.later(now, c.lease_ms)), beats = c.beats + 1,
               longest_gap_ms = greatest(c.longest_gap_ms,
                                         tenure.sync_gap_ms(coalesce(c.last_beat_at, c.claimed_at), now)),
               last_beat_at = now
         where c.matrix_id = matrix and c.chunk_hash = hash and c.sync = of_sync and c.token = of_token
           and c.locked_by = of_owner and c.locked_until > now
        returning c.locked_until into until;
    end if;
    if until is null then
        lost := (select coalesce(v.lost, 'finished')
                   from tenure.sync_judge(of_sync, hash, of_owner, of_token, null, now) v);
    end if;
end $$;

-- The chunks that keep a sync from being complete.
create or replace function tenure.sync_undone(of_sync bigint, out open_chunks bigint, out failed_chunks bigint)
language sql stable as $$
    select count(*) filter (where k.failed_at is null), count(k.failed_at)
      from tenure.sync_chunk k where k.sync = of_sync and k.completed_at is null
$$;

-- Ends a claim of a sync (`hash` is '') or a chunk.
-- Locks       of a chunk its own row and nothing else, not even of its sync: chunks are done side by side.
-- Parameters  `rows_synced` and `left_cursor` of a completion; `error` and `retry` of a failure.
-- Reply       where it stands; or why the lease is lost; or how many chunks keep the sync open.
create or replace function tenure.finish_sync(
    of_sync bigint, hash text, of_owner text, of_token bigint, verb text, rows_synced bigint, left_cursor text,
    error text, retry boolean,
    out state text, out already boolean, out lost text, out open_chunks bigint, out failed_chunks bigint
) language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    now timestamptz;
    matrix text;
    the tenure.sync_job;
    c tenure.sync_chunk;
    of_reason text;
begin
    if (verb in ('complete', 'fail', 'release')) is not true then
        perform tenure.refuse('wrong_type', 'a sync or chunk is ended by complete, fail or release');
    end if;
    perform tenure.durably();
    perform tenure.only_json('cursor', array[left_cursor]);
    already := false;
    if hash = '' then
        if verb = 'complete' then
            -- Looked at without a lock first: who has chunks left is told so, and waits for nobody who is at one of them.
            select l.open_chunks, l.failed_chunks into open_chunks, failed_chunks from tenure.sync_undone(of_sync) l;
        end if;
        -- Ending a sync shuts out claims and completions of its chunks; releasing it does not.
        if verb = 'release' or open_chunks + failed_chunks > 0 then
            select j.* into the from tenure.sync_job j where j.id = of_sync for no key update;
        else
            select s.* into the from tenure.sync_shut(of_sync) s;
        end if;
        now := tenure.clock();
        if the.token = of_token and the.locked_by = of_owner and the.locked_until > now then
            if verb = 'release' then
                update tenure.sync_job j
                   set locked_by = null, locked_until = null, lease_ms = null, told = false, beats = 0,
                       last_beat_at = null, longest_gap_ms = 0
                 where j.id = of_sync and j.token = of_token;
                state := 'AVAILABLE';
            elsif verb = 'fail' then
                perform tenure.sync_note(now, of_sync, '', 'failed', of_token, of_owner, null, 'failed', error);
                perform tenure.sync_end(of_sync, 'FAILED', 'failed', error, now, tenure.sync_crashes(the));
                state := 'FAILED';
            else
                if open_chunks + failed_chunks = 0 then
                    -- Again, now that nobody can add to them.
                    select l.open_chunks, l.failed_chunks into open_chunks, failed_chunks
                      from tenure.sync_undone(of_sync) l;
                end if;
                if open_chunks + failed_chunks > 0 then
                    return;
                end if;
                perform tenure.sync_end(of_sync, 'COMPLETED', null, null, now, tenure.sync_crashes(the));
                state := 'COMPLETED';
            end if;
        end if;
    else
        matrix := (select j.matrix_id from tenure.sync_job j where j.id = of_sync);
        select k.* into c from tenure.sync_chunk k
         where k.matrix_id = matrix and k.chunk_hash = hash and k.sync = of_sync for no key update;
        now := tenure.clock();
        if c.token = of_token and c.locked_by = of_owner and c.locked_until > now then
            case verb
                when 'complete' then state := 'COMPLETED';
                when 'release' then state := 'AVAILABLE';
                else
                    of_reason := case when not retry then 'failed'
                                      when c.attempt >= c.attempts_max then 'attempts_spent' end;
                    state := case when of_reason is null then 'AVAILABLE' else 'FAILED' end;
                    perform tenure.sync_note(now, of_sync, hash, case state when 'FAILED' then 'failed' else 'retried' end,
                                             of_token, of_owner, c.attempt, of_reason, error);
            end case;
            update tenure.sync_chunk k
               set completed_at = case state when 'COMPLETED' then now end,
                   failed_at = case state when 'FAILED' then now end,
                   reason = of_reason,
                   error_message = coalesce(finish_sync.error, k.error_message),
                   attempt = case verb when 'release' then greatest(k.attempt - 1, 0) else k.attempt end,
                   last_synced_at = case verb when 'complete' then now else k.last_synced_at end,
                   row_count = case verb when 'complete' then rows_synced else k.row_count end,
                   cursor = case verb when 'complete' then coalesce(left_cursor, k.cursor) else k.cursor end,
                   locked_by = null, locked_until = null, lease_ms = null, told = false, beats = 0, last_beat_at = null,
                   longest_gap_ms = 0
             where k.matrix_id = matrix and k.chunk_hash = hash and k.token = of_token;
        end if;
    end if;
    if state is not null then
        perform tenure.sync_remember(of_sync, hash, of_token, of_owner, verb, state, false, now);
    else
        select v.state, v.lost into state, lost
          from tenure.sync_judge(of_sync, hash, of_owner, of_token, verb, now) v;
        already := state is not null;
    end if;
end $$;
