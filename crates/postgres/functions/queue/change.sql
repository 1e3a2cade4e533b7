-- Changes a queue's settings, and creates a queue that is not there (Q8, X).
-- Parameters  `names` of the settings to change; the values of the others are not looked at.
-- What a limit held back is looked at again: a tenant by tenant, a lane by lane.
create or replace function tenure.change_queue(
    of_name text, names text[], paused boolean, max_running integer, max_running_per_key integer,
    lane_on_failure text, retention_ms bigint, rate_max integer, rate_period_ms bigint, key_rate_max integer,
    key_rate_period_ms bigint
) returns void language plpgsql as $$
#variable_conflict use_column
declare
    now timestamptz := tenure.clock();
begin
    perform tenure.durably();
    insert into tenure.queue (name, created_at) values (of_name, now) on conflict do nothing;
    update tenure.queue q
       set paused = case when 'paused' = any (names) then change_queue.paused else q.paused end,
           max_running = case when 'max_running' = any (names) then change_queue.max_running else q.max_running end,
           max_running_per_key = case when 'max_running_per_key' = any (names) then change_queue.max_running_per_key
                                      else q.max_running_per_key end,
           lane_on_failure = case when 'lane_on_failure' = any (names)
                                  then coalesce(change_queue.lane_on_failure, 'continue') else q.lane_on_failure end,
           retention_ms = case when 'retention_ms' = any (names) then coalesce(change_queue.retention_ms, 604800000)
                               else q.retention_ms end,
           rate_max = case when 'rate_limit' = any (names) then change_queue.rate_max else q.rate_max end,
           rate_period_ms = case when 'rate_limit' = any (names) then change_queue.rate_period_ms
                                 else q.rate_period_ms end,
           key_rate_max = case when 'rate_limit_per_key' = any (names) then change_queue.key_rate_max
                               else q.key_rate_max end,
           key_rate_period_ms = case when 'rate_limit_per_key' = any (names) then change_queue.key_rate_period_ms
                                     else q.key_rate_period_ms end
     where q.name = of_name;
    if names && array['max_running_per_key', 'rate_limit_per_key'] then
        insert into tenure.arrival (queue, key, lane, at)
        select distinct j.queue, j.limit_key, false, now from tenure.job j
         where j.queue = of_name and j.limit_key is not null and j.place = 3;
    end if;
    if 'lane_on_failure' = any (names) and coalesce(change_queue.lane_on_failure, 'continue') = 'continue' then
        insert into tenure.arrival (queue, key, lane, at)
        select l.queue, l.key, true, now from tenure.lane l where l.queue = of_name and l.blocked_by is not null;
        -- In their order, as endings take them (L10).
        perform from tenure.lane l where l.queue = of_name and l.blocked_by is not null order by l.key for update;
        update tenure.lane l set blocked_by = null where l.queue = of_name and l.blocked_by is not null;
    end if;
end $$;
