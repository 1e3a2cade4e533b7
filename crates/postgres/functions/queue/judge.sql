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
    kept record;
    ended boolean;
begin
    select j.token, j.attempts into last_token, history from tenure.job j where j.id = of_job;
    if not found then
        select f.token, tenure.all_attempts(f) into last_token, history from tenure.finished f where f.id = of_job;
        known := found;
    end if;
    select r.verb, r.status, r.cancelled into kept
      from jsonb_array_elements(history) with ordinality as h(attempt, ord), tenure.receipt_of(h.attempt) r
     where r.token = under_token and r.owner = by_owner
     order by h.ord desc limit 1;
    ended := found;
    if not ended then
        -- An ending that is no longer kept with its job; of a job that is gone, the receipt of its last claim stays longest.
        select r.verb, r.status, r.cancelled into kept
          from tenure.receipt r where r.job = of_job and r.token = under_token and r.owner = by_owner;
        ended := found;
        if not known then
            last_token := (select max(r.token) from tenure.receipt r where r.job = of_job);
        end if;
    end if;
    select v.state, v.lost into status, lost from tenure.judge_claim(
        by_verb, under_token, ended, kept.verb, kept.status, kept.cancelled, last_token,
        (select l.expires_at from tenure.lease l join tenure.job j on j.id = of_job and j.token = l.token and j.running
          where l.token = under_token and l.owner = by_owner), now) v;
    if status is not null then
        return;
    end if;
    -- The caller has seen that it is not held; what was renewed or claimed since is judged anew by its next write.
    lost := coalesce(lost, 'unknown');
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
