-- Syncs for plain SQL: a chunk completed in the transaction that writes its rows, in any language.
-- A lost lease raises TE020, and what was written with it is rolled back with it.

-- The pass in which a chunk was claimed under a token: the one that a receipt remembers (L12), else the one the chunk is
-- in. A chunk that is not on record is a lost lease.
-- Reply  the pass, and whether that claim has ended.
-- Index  the primary keys.
create or replace function tenure.chunk_pass(
    matrix_id text, chunk_hash text, owner text, token bigint, out of_sync bigint, out ended boolean
) language plpgsql as $$
begin
    select r.sync into of_sync from tenure.sync_receipt r join tenure.sync_job j on j.id = r.sync
     where r.token = chunk_pass.token and r.chunk_hash = chunk_pass.chunk_hash and r.owner = chunk_pass.owner
       and j.matrix_id = chunk_pass.matrix_id;
    ended := found;
    if not ended then
        select c.sync into of_sync from tenure.sync_chunk c
         where c.matrix_id = chunk_pass.matrix_id and c.chunk_hash = chunk_pass.chunk_hash;
    end if;
    if of_sync is null then
        perform tenure.lease_lost('unknown');
    end if;
end $$;

-- Completes a held chunk in the caller's transaction; to be called last, just before the commit.
-- Parameters  `row_count` and `cursor` (JSON) are kept with the chunk.
-- Reply       'COMPLETED'.
-- Locks       the row of the sync, shared with everybody but who ends the sync; then the row of the chunk. What has ended
--             before is answered without a lock.
create or replace function tenure.complete_chunk(
    matrix_id text, chunk_hash text, owner text, token bigint, row_count bigint default null, cursor text default null
) returns text language plpgsql security definer set search_path = pg_catalog, pg_temp
  set standard_conforming_strings = on as $$
declare
    pass record;
    answer record;
begin
    if row_count not between 0 and 9007199254740991 then
        perform tenure.refuse('out_of_bounds', '`row_count` must be 0 to 9007199254740991');
    end if;
    if octet_length(cursor) > 1048576 then
        perform tenure.refuse('too_large', '`cursor` is too large: at most 1048576 bytes');
    end if;
    perform tenure.checked_json('cursor', cursor);
    perform tenure.durably();
    select * into pass from tenure.chunk_pass(matrix_id, chunk_hash, owner, token);
    if pass.ended then
        select v.state, v.lost into answer
          from tenure.sync_judge(pass.of_sync, chunk_hash, owner, token, 'complete', tenure.clock()) v;
    else
        perform from tenure.sync_job j where j.id = pass.of_sync for key share;
        select v.state, v.lost into answer from tenure.finish_sync(
            pass.of_sync, chunk_hash, owner, token, 'complete', row_count, cursor, null, false) v;
    end if;
    if answer.lost is not null then
        perform tenure.lease_lost(answer.lost);
    end if;
    return answer.state;
end $$;

-- Raises unless the lease of a chunk is held at this moment, and keeps others from claiming it until the caller's
-- transaction ends, even if the lease runs out meanwhile. Never blocks a heartbeat: the row is only key-shared.
create or replace function tenure.chunk_held(matrix_id text, chunk_hash text, owner text, token bigint)
returns void language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    pass record;
    mine boolean;
begin
    perform tenure.durably();
    select * into pass from tenure.chunk_pass(matrix_id, chunk_hash, owner, token);
    perform from tenure.sync_chunk c
      where c.matrix_id = chunk_held.matrix_id and c.chunk_hash = chunk_held.chunk_hash for key share;
    mine := exists (select from tenure.sync_chunk c
                     where c.matrix_id = chunk_held.matrix_id and c.chunk_hash = chunk_held.chunk_hash
                       and c.locked_by = chunk_held.owner and c.token = chunk_held.token
                       and c.locked_until > tenure.clock());
    if not mine then
        perform tenure.lease_lost((select coalesce(v.lost, 'finished') from tenure.sync_judge(
            pass.of_sync, chunk_hash, owner, token, null, tenure.clock()) v));
    end if;
end $$;
