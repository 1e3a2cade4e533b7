-- Judges a write that is not plainly held (L3, L4, L12), for jobs, units, syncs, chunks and domains alike: core's `lease::judge`.
-- Parameters  `by_verb` is null for a heartbeat. `ended`: the presented claim, of that owner and token, has ended and is
--             remembered; by which verb of its holder's, or else whether it was cancelled, and where it left the unit.
--             `last_token`: of the last claim of the unit that is remembered. `held_until`: the deadline of the lease
--             that the unit is held under, if it is the presented one.
-- Reply       both null: the lease is held. `state`: the very same ending was accepted before. `lost`: refused.
create or replace function tenure.judge_claim(
    by_verb text, under_token bigint, ended boolean, ended_verb text, ended_state text, cancelled boolean,
    last_token bigint, held_until timestamptz, now timestamptz, out state text, out lost text
) language sql immutable parallel safe as $$
    -- Receipts come before the lease: a lost reply may be asked for long after the unit moved on (L12).
    select case when ended and ended_verb = by_verb then ended_state end,
           case when ended then
                    case when ended_verb = by_verb then null
                         when ended_verb is not null then 'finished'
                         when cancelled then 'cancelled'
                         when last_token > under_token then 'superseded'
                         else 'expired' end
                when held_until is null then 'unknown'
                when held_until <= now then 'expired' end
$$;
