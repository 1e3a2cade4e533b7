-- Finds or takes dedup keys (Q7), in the order of the keys so that two calls never wait for each other crosswise.
-- Reply  for each job the id its key already stands for, or null where the key is now its own.
create or replace function tenure.remember(
    queues text[], keys text[], windows_ms bigint[], bodies bytea[], ids bigint[], now timestamptz
) returns bigint[] language plpgsql as $$
#variable_conflict use_column
declare
    n record;
    known tenure.dedup;
    known_ids bigint[] := array_fill(null::bigint, array[cardinality(queues)]);
    conflict_ord bigint;
    conflict_id bigint;
begin
    for n in
        select k.* from unnest(queues, keys, windows_ms, bodies) with ordinality as k(queue, key, window_ms, body, ord)
         where k.key is not null
         order by k.queue, k.key, k.ord
    loop
        -- Waits for a rival that is enqueuing under the same key, and then finds its row. Bounded: rows that are neither
        -- ours to write nor ours to see, or that others remove as often as we look, must not keep us for ever.
        for try in 1 .. 101 loop
            if try > 100 then
                raise exception 'tenure: a dedup key could neither be taken nor found in a hundred tries'
                    using errcode = '40001';
            end if;
            insert into tenure.dedup (queue, key, job, until, body)
            values (n.queue, n.key, ids[n.ord], tenure.later(now, coalesce(n.window_ms, 86400000)), n.body)
                on conflict do nothing;
            exit when found;
            select d.* into known from tenure.dedup d where d.queue = n.queue and d.key = n.key for update;
            -- Removed in between: take it.
            continue when not found;
            if known.until > now or known.job = any (ids) or exists (select from tenure.job j where j.id = known.job) then
                if known.body <> n.body then
                    if conflict_ord is null or n.ord < conflict_ord then
                        conflict_ord := n.ord;
                        conflict_id := case when known.job = any (ids) then null else known.job end;
                    end if;
                else
                    known_ids[n.ord] := known.job;
                end if;
            else
                update tenure.dedup d
                   set job = ids[n.ord], until = tenure.later(now, coalesce(n.window_ms, 86400000)), body = n.body,
                       ended = null
                 where d.queue = n.queue and d.key = n.key;
            end if;
            exit;
        end loop;
    end loop;
    if conflict_ord is not null then
        raise exception 'tenure: another body under a remembered key'
            using errcode = 'TE003', detail = conflict_ord - 1 || ' ' || coalesce(conflict_id, 0);
    end if;
    return known_ids;
end $$;

-- The same for a caller who has others waiting behind it, and no transaction of its own: a key that somebody is enqueuing
-- under in a transaction that stays open is not waited for much longer than a commit takes.
create or replace function tenure.remember_soon(
    queues text[], keys text[], windows_ms bigint[], bodies bytea[], ids bigint[], now timestamptz
) returns bigint[] language plpgsql set lock_timeout = '3s' as $$
begin
    return tenure.remember(queues, keys, windows_ms, bodies, ids, now);
end $$;
