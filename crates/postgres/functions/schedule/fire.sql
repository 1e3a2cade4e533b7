-- Deals with slots that are due, unless another has since they were looked at (T1): their jobs, the row of each and
-- the move of the cursor are one transaction.
-- Guard       name and revision; awake; due by our own clock, read after the row is locked (T2); onward from the cursor.
-- Parameters  `slots` to fire, oldest first, may be empty; `missed_count` dropped, `missed_slot` the last of them;
--             `next_slot` where the cursor moves to; `kept` firings stay.
-- Reply       one row: why it was refused, or when, the jobs in the order of the slots, and their queue.
-- Locks       the schedule's row, before anything an enqueue locks. Indexes: schedule_pkey, firing_pkey.
create or replace function tenure.fire_schedule(
    of_name text, of_revision bigint, slots timestamptz[], missed_count bigint, missed_slot timestamptz,
    next_slot timestamptz, kept integer
) returns table (refusal text, at timestamptz, jobs bigint[], queue text) language plpgsql
  set search_path = pg_catalog, pg_temp as $$
#variable_conflict use_column
declare
    s tenure.schedule;
    now timestamptz;
    count integer := cardinality(slots);
    touched timestamptz[] := slots || case when missed_slot is not null then array[missed_slot] else '{}' end;
    ids bigint[] := '{}';
begin
    perform tenure.durably();
    select k.* into s from tenure.schedule k where k.name = of_name for update;
    if not found then
        return query select 'absent', null::timestamptz, null::bigint[], null::text;
        return;
    end if;
    now := tenure.clock();
    refusal := case
        when s.revision <> of_revision then 'changed'
        when s.paused then 'paused'
        when s.next_at is null or s.next_at > now or now < any (touched) then 'not_due'
        when s.next_at > any (touched) or missed_slot >= slots[1] or next_slot <= s.next_at or next_slot <= any (touched)
          or exists (select from generate_series(2, count) i where slots[i - 1] >= slots[i]) then 'behind'
    end;
    if refusal is not null then
        return query select refusal, null::timestamptz, null::bigint[], null::text;
        return;
    end if;
    if count > 0 then
        ids := array(select e.id from tenure.enqueue_given(
            array_fill(s.queue, array[count]), array_fill(s.kind, array[count]), array_fill(s.payload, array[count]),
            array_fill(s.priority, array[count]), slots, array_fill(s.attempts_max, array[count]),
            case when s.timeout_ms is not null then array_fill(s.timeout_ms, array[count]) end,
            case when s.backoff is not null then array_fill(s.backoff::text, array[count]) end,
            case when s.ordering_key is not null then array_fill(s.ordering_key, array[count]) end,
            case when s.limit_key is not null then array_fill(s.limit_key, array[count]) end,
            null, null, null) e);
        insert into tenure.firing (schedule, slot, fired_at, job)
        select of_name, f.slot, now, f.job from unnest(slots, ids) as f(slot, job);
        delete from tenure.firing f
         where f.schedule = of_name
           and f.slot <= (select k.slot from tenure.firing k where k.schedule = of_name
                           order by k.slot desc limit 1 offset kept);
    end if;
    update tenure.schedule k
       set revision = nextval('tenure.schedule_revision'), next_at = next_slot, fired = k.fired + count,
           missed = k.missed + missed_count, missed_at = coalesce(missed_slot, k.missed_at),
           last_slot = coalesce(slots[count], k.last_slot),
           last_fired_at = case when count > 0 then now else k.last_fired_at end,
           last_job = coalesce(ids[count], k.last_job)
     where k.name = of_name;
    return query select null::text, now, ids, s.queue;
end $$;
