-- Syncs for plain SQL: a chunk completed in the transaction that writes its rows, in any language.
-- A lost lease raises TE020, and what was written with it is rolled back with it.

-- The pass that a chunk is in; a chunk that is not on record is a lost lease.
create or replace function tenure.chunk_sync(matrix_id text, chunk_hash text) returns bigint language plpgsql as $$
declare
    of_sync bigint;
begin
    select c.sync into of_sync from tenure.sync_chunk c
     where c.matrix_id = chunk_sync.matrix_id and c.chunk_hash = chunk_sync.chunk_hash;
    if of_sync is null then
        perform tenure.lease_lost('unknown');
    end if;
    return of_sync;
end $$;

-- Completes a held chunk in the caller's transaction; to be called last, just before the commit.
-- Parameters  `row_count` and `cursor` (JSON) are kept with the chunk.
-- Reply       'COMPLETED'.
create or replace function tenure.complete_chunk(
    matrix_id text, chunk_hash text, owner text, token bigint, row_count bigint default null, cursor text default null
) returns text language plpgsql as $$
declare
    ended record;
begin
    if row_count not between 0 and 9007199254740991 then
        perform tenure.refuse('out_of_bounds', '`row_count` must be 0 to 9007199254740991');
    end if;
    if octet_length(cursor) > 1048576 then
        perform tenure.refuse('too_large', '`cursor` is too large: at most 1048576 bytes');
    end if;
    perform tenure.checked_json('cursor', cursor);
    select * into ended from tenure.finish_sync(
        tenure.chunk_sync(matrix_id, chunk_hash), chunk_hash, owner, token, 'complete', row_count, cursor, null, false);
    if ended.lost is not null then
        perform tenure.lease_lost(ended.lost);
    end if;
    return ended.state;
end $$;

-- Raises unless the lease of a chunk is held at this moment, and keeps others from claiming it until the caller's
-- transaction ends, even if the lease runs out meanwhile. Never blocks a heartbeat: the row is only key-shared.
create or replace function tenure.chunk_held(matrix_id text, chunk_hash text, owner text, token bigint)
returns void language plpgsql as $$
declare
    of_sync bigint := tenure.chunk_sync(matrix_id, chunk_hash);
    mine boolean;
begin
    perform tenure.durably();
    perform from tenure.sync_chunk c
      where c.matrix_id = chunk_held.matrix_id and c.chunk_hash = chunk_held.chunk_hash for key share;
    mine := exists (select from tenure.sync_chunk c
                     where c.matrix_id = chunk_held.matrix_id and c.chunk_hash = chunk_held.chunk_hash
                       and c.locked_by = chunk_held.owner and c.token = chunk_held.token
                       and c.locked_until > tenure.clock());
    if not mine then
        perform tenure.lease_lost((select coalesce(v.lost, 'finished') from tenure.sync_judge(
            of_sync, chunk_hash, owner, token, null, tenure.clock()) v));
    end if;
end $$;
