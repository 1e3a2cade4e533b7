-- Answers a write that found no lease to hold it: a receipt (L12), or the reason it is lost (L3).
-- Parameters  `verb` is null for a heartbeat.
-- Reply       `status` if the very same ending was accepted before, else `lost`. A refusal of a job on record is
--             counted into the event of its token and reason (L8); of each job the hundred are kept whose last came
--             latest.
-- Locks       the event of the refusal; of those to be forgotten only what nobody else is forgetting.
-- Indexes     event_refused.
create or replace function tenure.judge(
    of_job bigint, by_owner text, under_token bigint, by_verb text, now timestamptz,
    out status text, out lost text
) language plpgsql as $$
#variable_conflict use_column
declare
    known boolean := true;
    last_token bigint;
    history jsonb;
    ended_verb text;
    ended_outcome text;
    ended_status text;
    receipt_lost text;
begin
    select j.token, j.attempts into last_token, history from tenure.job j where j.id = of_job;
    if not found then
        select f.token, f.attempts,
               case when f.token = under_token and f.owner = by_owner then f.verb end,
               case when f.token = under_token and f.owner = by_owner then f.outcome end,
               f.status
          into last_token, history, ended_verb, ended_outcome, ended_status
          from tenure.finished f where f.id = of_job;
        known := found;
    end if;
    if ended_outcome is null and history is not null then
        select a ->> 'verb', a ->> 'outcome', case a ->> 'outcome' when 'completed' then 'completed'
                                                 when 'failed' then 'failed' when 'cancelled' then 'failed'
                                                 else 'queued' end
          into ended_verb, ended_outcome, ended_status
          from jsonb_array_elements(history) with ordinality as h(a, ord)
         where (a ->> 'token')::bigint = under_token and a ->> 'owner' = by_owner
         order by ord desc limit 1;
    end if;
    if ended_outcome is null then
        -- An ending that is no longer kept with its job.
        select r.verb, r.status, r.lost into ended_verb, ended_status, receipt_lost
          from tenure.receipt r where r.job = of_job and r.token = under_token and r.owner = by_owner;
    end if;
    if ended_verb = by_verb then
        status := ended_status;
        return;
    end if;
    lost := case
        when ended_verb is not null then 'finished'
        when receipt_lost is not null then receipt_lost
        when ended_outcome = 'cancelled' then 'cancelled'
        when ended_outcome is not null and last_token = under_token then 'expired'
        when ended_outcome is not null then 'superseded'
        when exists (select from tenure.lease l join tenure.job j on j.id = of_job and j.token = l.token and j.running
                      where l.token = under_token and l.owner = by_owner and l.expires_at <= now) then 'expired'
        else 'unknown'
    end;
    if known then
        insert into tenure.event as e (at, job, what, token, owner, verb, lost)
        values (now, of_job, 'refused', under_token, by_owner, by_verb, judge.lost)
        on conflict (job, token, lost) where what = 'refused'
        do update set first_at = coalesce(e.first_at, e.at), at = excluded.at, owner = excluded.owner,
                      verb = excluded.verb, count = e.count + 1;
        delete from tenure.event e
         where e.id in (select r.id from tenure.event r where r.job = of_job and r.what = 'refused'
                         order by r.at desc, r.id desc offset 100 for update skip locked);
    end if;
end $$;
