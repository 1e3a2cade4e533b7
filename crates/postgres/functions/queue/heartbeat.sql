-- Renews leases (Q3), each answered on its own.
-- Parameters  one array element for each heartbeat, no token twice; `jobs` null renews a shared lease whatever is left.
-- Guard       token, owner and an unexpired lease; with a job named, that it still runs under that token. The rows are
--             locked before the clock is read: a heartbeat that waited past its expiry is refused (L5, A7).
-- Reply       the new expiry, never beyond the job's own timeout, and what an operator asked to cancel (L11); a row
--             without expiry was refused, and `tenure.refuse_heartbeat` says why, in a statement that sees what was
--             committed meanwhile.
create or replace function tenure.heartbeat(
    jobs bigint[], owners text[], tokens bigint[], progresses text[], checkpoints text[]
) returns table (ord bigint, lease_expires_at timestamptz, cancelling bigint[]) language plpgsql
  security definer set search_path = pg_catalog, pg_temp
  set enable_seqscan = off set enable_hashjoin = off set enable_mergejoin = off set jit = off set lock_timeout = '8s'
as $$
#variable_conflict use_column
declare
    now timestamptz;
begin
    perform tenure.durably();
    perform tenure.only_json('progress', progresses);
    perform tenure.only_json('checkpoint', checkpoints);
    perform from tenure.lease l where l.token = any (tokens) order by l.token for no key update;
    now := tenure.clock();
    return query
        with beat as (
            select b.* from unnest(jobs, owners, tokens, progresses, checkpoints) with ordinality
                       as b(job, owner, token, progress, checkpoint, ord)
        ), renewed as (
            update tenure.lease l
               set expires_at = least(l.ends_at, greatest(l.expires_at, tenure.later(now, l.lease_ms))),
                   beats = l.beats + 1,
                   last_beat_at = now,
                   longest_gap_ms = greatest(l.longest_gap_ms,
                       floor(extract(epoch from now - coalesce(l.last_beat_at, l.granted_at)) * 1000)::bigint)
              from beat b
             where l.token = b.token and l.owner = b.owner and l.expires_at > now
               and (b.job is null and l.left_count > (select count(*) from tenure.slack s where s.token = l.token)
                    or exists (select from tenure.job j where j.id = b.job and j.token = b.token and j.running))
            returning b.*, l.expires_at, l.cancelling
        ), noted as (
            insert into tenure.note as n (job, progress, checkpoint)
            select r.job, r.progress, r.checkpoint from renewed r
             where r.job is not null and (r.progress is not null or r.checkpoint is not null)
            on conflict (job) do update
               set progress = coalesce(excluded.progress, n.progress),
                   checkpoint = coalesce(excluded.checkpoint, n.checkpoint)
        )
        select b.ord, r.expires_at,
               case when r.cancelling is null then '{}'
                    else array(select c.id from unnest(r.cancelling) as c(id)
                                where (b.job is null or c.id = b.job)
                                  and exists (select from tenure.job j
                                               where j.id = c.id and j.token = b.token and j.running)
                                order by c.id) end
          from beat b left join renewed r on r.ord = b.ord;
end $$;

-- Answers a heartbeat that was refused.
create or replace function tenure.refuse_heartbeat(job bigint, owner text, token bigint) returns text
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
    now timestamptz := tenure.clock();
begin
    if job is null then
        return case when exists (select from tenure.lease l where l.token = refuse_heartbeat.token
                                    and l.owner = refuse_heartbeat.owner and l.expires_at <= now)
                    then 'expired' else 'unknown' end;
    end if;
    return (select coalesce(j.lost, 'finished') from tenure.judge(job, owner, token, null, now) j);
end $$;
