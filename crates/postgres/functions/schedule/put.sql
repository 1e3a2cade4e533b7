-- Puts a definition in place, over the revision it was made from (T4).
-- Guard       name and revision; null is "there was none".
-- Parameters  the definition; what it changes, as the caller read it at that revision; `next_slot` counts only where the cursor must move: another cron or zone, or a rest that ends.
-- Reply       null, or why it was refused: changed, behind. What is there already stays as it is, its revision too.
-- Locks       the schedule's row. Index: schedule_pkey.
create or replace function tenure.put_schedule(
    of_name text, of_revision bigint, next_slot timestamptz, of_cron text, of_zone text, of_catch_up text,
    of_paused boolean, of_queue text, of_kind text, of_payload text, of_priority integer, of_attempts_max integer,
    of_timeout_ms bigint, of_backoff text, of_ordering_key text, of_limit_key text,
    settings text[] default '{}', was text[] default '{}', became text[] default '{}', by_actor text default null
) returns text language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    now timestamptz;
    found_row tenure.schedule;
    keeps boolean;
begin
    perform tenure.durably();
    if of_revision is null then
        insert into tenure.schedule (name, revision, created_at, updated_at, next_at, cron, zone, catch_up, paused, queue,
                                     kind, payload, priority, attempts_max, timeout_ms, backoff, ordering_key, limit_key)
        select of_name, nextval('tenure.schedule_revision'), c.now, c.now, next_slot, of_cron, of_zone, of_catch_up,
               of_paused, of_queue, of_kind, of_payload, of_priority, of_attempts_max, of_timeout_ms,
               of_backoff::double precision[], of_ordering_key, of_limit_key
          from (select tenure.clock() as now) c
         where not exists (select from tenure.schedule s where s.name = of_name)
            on conflict do nothing;
        if not found then
            return 'changed';
        end if;
        perform tenure.note_changes('schedule', of_name, 'created', array[null::text], null, null, by_actor,
                                    tenure.clock());
        return null;
    end if;
    select s.* into found_row from tenure.schedule s where s.name = of_name for update;
    if not found or found_row.revision <> of_revision then
        return 'changed';
    end if;
    if (found_row.cron, found_row.zone, found_row.catch_up, found_row.paused, found_row.queue, found_row.kind,
        found_row.payload, found_row.priority, found_row.attempts_max, found_row.timeout_ms, found_row.backoff,
        found_row.ordering_key, found_row.limit_key)
       is not distinct from
       (of_cron, of_zone, of_catch_up, of_paused, of_queue, of_kind, of_payload, of_priority, of_attempts_max,
        of_timeout_ms, of_backoff::double precision[], of_ordering_key, of_limit_key) then
        return null;
    end if;
    keeps := found_row.cron = of_cron and found_row.zone = of_zone and not (found_row.paused and not of_paused);
    if not keeps and next_slot <= found_row.last_slot then
        return 'behind';
    end if;
    now := tenure.clock();
    update tenure.schedule s
       set revision = nextval('tenure.schedule_revision'), updated_at = now,
           next_at = case when keeps then s.next_at else next_slot end,
           cron = of_cron, zone = of_zone, catch_up = of_catch_up, paused = of_paused, queue = of_queue, kind = of_kind,
           payload = of_payload, priority = of_priority, attempts_max = of_attempts_max, timeout_ms = of_timeout_ms,
           backoff = of_backoff::double precision[], ordering_key = of_ordering_key, limit_key = of_limit_key
     where s.name = of_name;
    perform tenure.note_changes('schedule', of_name, 'changed', settings, was, became, by_actor, now, true);
    return null;
end $$;

-- Removes a schedule and its firings, not its jobs.
-- Reply  whether it was there.
-- Locks  the schedule's row, before its firings: a firing under way is waited for.
create or replace function tenure.remove_schedule(of_name text, by_actor text default null) returns boolean
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
    was_there boolean;
begin
    perform tenure.durably();
    delete from tenure.schedule s where s.name = of_name;
    was_there := found;
    delete from tenure.firing f where f.schedule = of_name;
    if was_there then
        perform tenure.note_changes('schedule', of_name, 'removed', array[null::text], null, null, by_actor,
                                    tenure.clock());
    end if;
    return was_there;
end $$;
