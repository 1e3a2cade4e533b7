-- Called stable where they are immutable in truth: only then does the planner put them into the statement that calls them.

-- Microseconds since 1970, the unit in which attempts keep their instants.
create or replace function tenure.micros(at timestamptz) returns bigint
language sql stable parallel safe
return (extract(epoch from at) * 1000000)::bigint;

-- `at` moved by so many milliseconds, never beyond the last instant that RFC 3339 can spell.
create or replace function tenure.later(at timestamptz, ms bigint) returns timestamptz
language sql stable parallel safe
return case when ms is not null
            then least(at + ms * interval '1 millisecond', timestamptz '9999-12-31 23:59:59.999999+00') end;

-- When the period of a rate that `at` lies in is over; periods are counted from 1970 on.
create or replace function tenure.period_end(period_ms bigint, at timestamptz) returns timestamptz
language sql stable parallel safe
return timestamptz 'epoch' + (tenure.micros(at) / 1000 / period_ms + 1) * period_ms * interval '1 millisecond';

-- The wait after attempt `n` failed (Q6): by repeated multiplication, as core does it, so that both arrive at the
-- same millisecond.
create or replace function tenure.backoff_ms(backoff double precision[], n integer, chance double precision)
returns bigint language plpgsql immutable parallel safe as $$
declare
    growth double precision := coalesce(backoff[2], 2);
    ceiling double precision := coalesce(backoff[3], 3600000);
    jitter double precision := coalesce(backoff[4], 0.2);
    wait double precision := least(coalesce(backoff[1], 1000), ceiling);
begin
    for i in 2..n loop
        exit when wait >= ceiling or growth <= 1;
        wait := least(wait * growth, ceiling);
    end loop;
    return floor(wait * (1 + jitter * greatest(-1, least(1, chance))))::bigint;
end $$;

-- What every write of ours insists on, whatever the database's defaults are: each statement sees what was committed
-- before it (L10: locks are taken in one statement and judged in the next), and an answer means that it is on disk.
create or replace function tenure.durably() returns void language plpgsql as $$
begin
    if current_setting('transaction_isolation') <> 'read committed' then
        raise exception 'tenure: transactions must be READ COMMITTED here' using errcode = 'TE002';
    end if;
    if current_setting('synchronous_commit') in ('off', 'local') then
        perform set_config('synchronous_commit', 'on', true);
    end if;
end $$;
