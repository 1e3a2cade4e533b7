-- Writes down that a worker looked for work, where the last sighting is a minute old.
-- Parameters  `of_kinds` in order and each once; null is every kind.
-- Bounds      nothing of a queue that was never used; the first hundred kinds; a thousand sightings of a queue, of which a
--             new one replaces the oldest (the numbers are core's: KINDS_KEPT, SIGHTINGS_MAX).
-- Reply       when it is stored as seen in each of the queues, in their order; null where it could not be written now.
-- Never waits and never fails: a sighting is worth no claim. Only who gets the advisory lock writes, so that nobody waits
--             for an insert under way; a row that pruning holds is passed over. No lock of the lock order (L10) is
--             taken after it, for it is the last thing a claim does.
-- Indexes     sighting_pkey; for a new sighting sighting_queue, queue_pkey, job_queue.
create or replace function tenure.see(of_owner text, of_queues text[], of_kinds text[], now timestamptz)
returns timestamptz[] language plpgsql as $$
declare
    kept text[] := of_kinds[1:100];
    key bytea := case when of_kinds is null then ''::bytea
                      else sha256(convert_to(array_to_string(kept, ' '), 'UTF8')) end;
    seen timestamptz[] := array_fill(null::timestamptz, array[cardinality(of_queues)]);
    last timestamptz;
    n_over bigint;
begin
    for i in 1 .. cardinality(of_queues) loop
        last := (select s.seen_at from tenure.sighting s
                  where s.owner = of_owner and s.queue = of_queues[i] and s.kinds_key = key);
        if last > now - interval '1 minute' then
            seen[i] := last;
            continue;
        end if;
        continue when not pg_try_advisory_xact_lock(
            hashtextextended('tenure.sighting ' || of_owner || ' ' || of_queues[i] || ' ' || encode(key, 'hex'), 0));
        if last is null then
            continue when not exists (select from tenure.queue q where q.name = of_queues[i])
                      and not exists (select from tenure.job j where j.queue = of_queues[i]);
            n_over := (select count(*) from (select from tenure.sighting s where s.queue = of_queues[i] limit 1100) c) - 999;
            if n_over > 0 then
                delete from tenure.sighting s
                 where s.ctid = any (array(select o.ctid from tenure.sighting o where o.queue = of_queues[i]
                                            order by o.queue desc, o.seen_at, o.owner desc limit n_over
                                              for update skip locked));
            end if;
            insert into tenure.sighting (owner, queue, kinds_key, kinds, first_seen_at, seen_at)
            values (of_owner, of_queues[i], key, kept, now, now)
                on conflict do nothing;
            continue when not found;
        else
            perform from tenure.sighting s
              where s.owner = of_owner and s.queue = of_queues[i] and s.kinds_key = key for update skip locked;
            continue when not found;
            update tenure.sighting s set seen_at = greatest(s.seen_at, now)
             where s.owner = of_owner and s.queue = of_queues[i] and s.kinds_key = key;
        end if;
        seen[i] := now;
    end loop;
    return seen;
exception when others then
    return null;
end $$;
