-- Changes a queue's settings, and creates a queue that is not there (Q8, X).
-- Parameters  `names` of the settings to change; the values of the others are not looked at.
-- Locks       waits for the claims under way in this queue, which are short, and keeps new ones waiting meanwhile: without
--             a limit they did not count themselves, and a claim that begins after the change must (Q8).
-- What a setting held back is looked at again: tenants by a touch each, lanes at once.
create or replace function tenure.change_queue(
    of_name text, names text[], paused boolean, max_running integer, max_running_per_key integer,
    lane_on_failure text, retention_ms bigint, rate_max integer, rate_period_ms bigint, key_rate_max integer,
    key_rate_period_ms bigint, by_actor text default null
) returns void language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '8s' as $$
#variable_conflict use_column
declare
    now timestamptz := tenure.clock();
    before tenure.queue;
    after tenure.queue;
begin
    perform tenure.durably();
    perform pg_advisory_xact_lock(tenure.name_number('claims', of_name, ''));
    insert into tenure.queue (name, created_at) values (of_name, now) on conflict do nothing;
    select q.* into before from tenure.queue q where q.name = of_name;
    update tenure.queue q
       set paused = case when 'paused' = any (names) then change_queue.paused else q.paused end,
           max_running = case when 'max_running' = any (names) then change_queue.max_running else q.max_running end,
           max_running_per_key = case when 'max_running_per_key' = any (names) then change_queue.max_running_per_key
                                      else q.max_running_per_key end,
           lane_on_failure = case when 'lane_on_failure' = any (names)
                                  then coalesce(change_queue.lane_on_failure, 'continue') else q.lane_on_failure end,
           lane_policy = q.lane_policy
               + case when 'lane_on_failure' = any (names)
                           and coalesce(change_queue.lane_on_failure, 'continue') <> q.lane_on_failure then 1 else 0 end,
           retention_ms = case when 'retention_ms' = any (names) then coalesce(change_queue.retention_ms, 604800000)
                               else q.retention_ms end,
           rate_max = case when 'rate_limit' = any (names) then change_queue.rate_max else q.rate_max end,
           rate_period_ms = case when 'rate_limit' = any (names) then change_queue.rate_period_ms
                                 else q.rate_period_ms end,
           key_rate_max = case when 'rate_limit_per_key' = any (names) then change_queue.key_rate_max
                               else q.key_rate_max end,
           key_rate_period_ms = case when 'rate_limit_per_key' = any (names) then change_queue.key_rate_period_ms
                                     else q.key_rate_period_ms end
     where q.name = of_name
     returning q.* into after;
    perform tenure.note_changes(
        'queue', of_name, 'changed',
        array['paused', 'max_running', 'max_running_per_key', 'lane_on_failure', 'retention_ms', 'rate_limit',
              'rate_limit_per_key'],
        tenure.settings_text(before), tenure.settings_text(after), by_actor, now);
    if names && array['max_running_per_key', 'rate_limit_per_key'] then
        insert into tenure.touch (queue, lane, key)
        select g.queue, false, g.key from tenure.gate g where g.queue = of_name and not g.lane and g.state <> 'idle';
    end if;
    if 'lane_on_failure' = any (names) and coalesce(change_queue.lane_on_failure, 'continue') = 'continue' then
        -- A failure that is committed later finds another policy, and stops nothing.
        insert into tenure.touch (queue, lane, key)
        select g.queue, true, g.key from tenure.gate g where g.queue = of_name and g.blocked_by is not null;
        perform from tenure.gate g where g.queue = of_name and g.blocked_by is not null order by g.key for update;
        update tenure.gate g set blocked_by = null where g.queue = of_name and g.blocked_by is not null;
    end if;
end $$;

-- The settings of a queue as changes show them.
create or replace function tenure.settings_text(q tenure.queue) returns text[] language sql immutable as $$
    select array[q.paused::text, q.max_running::text, q.max_running_per_key::text, q.lane_on_failure,
                 q.retention_ms::text, q.rate_max || ' in ' || q.rate_period_ms || ' ms',
                 q.key_rate_max || ' in ' || q.key_rate_period_ms || ' ms']
$$;

-- Sets the limit of the whole engine; null is none. Waits for the claims under way, as above.
create or replace function tenure.set_limit(max_running integer, by_actor text default null) returns void
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '8s' as $$
declare
    before integer;
begin
    perform tenure.durably();
    perform pg_advisory_xact_lock(tenure.name_number('claims', '', ''));
    select e.max_running into before from tenure.engine e;
    update tenure.engine e set max_running = set_limit.max_running;
    perform tenure.note_changes('store', '', 'changed', array['max_running'], array[before::text],
                                array[set_limit.max_running::text], by_actor, tenure.clock());
end $$;
