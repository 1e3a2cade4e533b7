-- Whether every prerequisite of a stage is DONE.
create or replace function tenure.needs_done(u tenure.unit) returns boolean language sql stable as $$
    select not exists (select from unnest(u.needs) as n(name)
                        where not exists (select from tenure.unit d where d.run = u.run and d.stage = n.name
                                             and d.segment = '' and d.status = 'DONE'))
$$;

-- A unit begins anew: its attempts, its ending, its output, and what it said of its progress and errors are forgotten;
-- its token and what it recorded are not.
create or replace function tenure.unit_reset(of_unit bigint, to_status text, handed_out boolean, now timestamptz)
returns void language sql as $$
    update tenure.unit x
       set status = to_status, reason = null, retry_at = null, attempt = 0, output = null, error = null, progress = null,
           open = handed_out, changed_at = now
     where x.id = of_unit
$$;
