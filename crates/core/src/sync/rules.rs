//! What may happen to one sync or chunk. Pure: the caller has read the facts and will write what is decided.

use super::request::{Act, Ended, Verb};
use super::unit::{Lock, Reason, Standing, State};
use crate::lease::{LostReason, Pulse, Token, live, renewed};
use crate::time::Time;

/// How long an ended sync is kept, unless it is the last of its matrix: seven days, as finished jobs.
pub const RETENTION_MS: u64 = 7 * 86_400_000;

/// The claim a writer presents.
#[derive(Clone, Copy, Debug)]
pub struct Presented<'a> {
    /// Who writes.
    pub owner: &'a str,
    /// Under which token.
    pub token: Token,
    /// The verb, if the write ends the claim; `None` for heartbeats.
    pub verb: Option<Verb>,
}

/// How a claim ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Its holder ended it by this verb, which left the unit in this state.
    By(Verb, State),
    /// It ran out, and the unit moved on.
    Expired,
    /// Its sync was cancelled or failed.
    Cancelled,
}

/// What is remembered of an ended claim, for an hour at least (L12).
#[derive(Clone, Debug, PartialEq)]
pub struct Receipt {
    /// Who held it.
    pub owner: String,
    /// How it ended.
    pub end: End,
    /// When.
    pub at: Time,
}

/// Whether a write counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// The lease is held: write.
    Held,
    /// The same write was accepted before: answer as then (L12).
    Already(Ended),
    /// Change nothing (L3).
    Lost(LostReason),
}

/// Judges a write by the receipt of that claim, the token of the unit's last claim, and the unit's columns if it is
/// still of this pass.
#[must_use]
pub fn judge(
    presented: Presented<'_>,
    receipt: Option<&Receipt>,
    last_token: Option<Token>,
    standing: Option<&Standing>,
    now: Time,
) -> Judgement {
    // Receipts come before the lease: a lost reply may be asked for long after the unit moved on (L12).
    if let Some(receipt) = receipt.filter(|receipt| receipt.owner == presented.owner) {
        return match receipt.end {
            End::By(verb, state) if Some(verb) == presented.verb => Judgement::Already(Ended { state, already: true }),
            End::By(..) => Judgement::Lost(LostReason::Finished),
            End::Cancelled => Judgement::Lost(LostReason::Cancelled),
            End::Expired if last_token == Some(presented.token) => Judgement::Lost(LostReason::Expired),
            End::Expired => Judgement::Lost(LostReason::Superseded),
        };
    }
    let current = standing.filter(|standing| standing.token == Some(presented.token));
    match current.and_then(|standing| standing.lock.as_ref()).filter(|lock| lock.owner == presented.owner) {
        Some(lock) if live(lock.until, now) => Judgement::Held,
        Some(_) => Judgement::Lost(LostReason::Expired),
        None => Judgement::Lost(LostReason::Unknown),
    }
}

/// What an ending makes of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settled {
    /// Where it stands now.
    pub state: State,
    /// Why it failed, if it did.
    pub reason: Option<Reason>,
    /// Attempts that count from now on (L6).
    pub attempt: u32,
}

/// What the holder's ending makes of a chunk: a failed one is tried again at once, while it has attempts (S5).
#[must_use]
pub fn settle(act: &Act, attempt: u32, attempts_max: u32) -> Settled {
    let failed = |reason| Settled { state: State::Failed, reason: Some(reason), attempt };
    match act {
        Act::Complete { .. } => Settled { state: State::Completed, reason: None, attempt },
        Act::Fail { retry: false, .. } => failed(Reason::Failed),
        Act::Fail { .. } if attempt >= attempts_max => failed(Reason::AttemptsSpent),
        Act::Fail { .. } => Settled { state: State::Available, reason: None, attempt },
        // Given back with its attempt; the token stays grown (L6, L2).
        Act::Release => Settled { state: State::Available, reason: None, attempt: attempt.saturating_sub(1) },
    }
}

/// Whether a chunk whose lease ran out has failed for good (L6: its claim was its start).
#[must_use]
pub fn crashed_out(attempt: u32, attempts_max: u32) -> bool {
    attempt >= attempts_max
}

/// Crashes of a sync since a chunk was last done, with one more: its lease ran out at `until`. A lease that ran out before
/// that chunk was done does not count, however late it is noticed (L6).
#[must_use]
pub fn sync_crashes(crashes: u32, until: Time, last_done_at: Option<Time>) -> u32 {
    if last_done_at.is_some_and(|done_at| until <= done_at) { crashes } else { crashes.saturating_add(1) }
}

/// Whether a sync ends because its leases ran out so often without a chunk done in between (L6).
#[must_use]
pub fn sync_crashed_out(crashes: u32, crashes_max: Option<u32>) -> bool {
    crashes_max.is_some_and(|max| crashes >= max)
}

/// Whether a chunk that was synced at `last_synced_at` need not be synced again.
#[must_use]
pub fn fresh_enough(last_synced_at: Option<Time>, within_ms: Option<u64>, now: Time) -> bool {
    last_synced_at.zip(within_ms).is_some_and(|(at, ms)| at.plus_ms(ms) > now)
}

impl Standing {
    /// Puts it under a lease from `now` on; what it was held under before has been dealt with.
    pub fn take(&mut self, owner: &str, token: Token, lease_ms: u64, now: Time) -> Time {
        let until = renewed(None, now, lease_ms);
        self.token = Some(token);
        self.claimed_at = Some(now);
        self.lock = Some(Lock { owner: owner.to_owned(), until, lease_ms, told: false, pulse: Pulse::default() });
        until
    }

    /// Renews its lease; the new deadline. `None` if it has none.
    pub fn renew(&mut self, now: Time) -> Option<Time> {
        let lock = self.lock.as_mut()?;
        lock.until = renewed(Some(lock.until), now, lock.lease_ms);
        lock.pulse.beat(self.claimed_at.unwrap_or(now), now);
        Some(lock.until)
    }

    /// Ends it or puts it back: where it stands from `now` on, without a lease.
    pub fn settle(&mut self, state: State, reason: Option<Reason>, error: Option<&str>, now: Time) {
        self.lock = None;
        match state {
            State::Completed => self.completed_at = Some(now),
            State::Failed => self.failed_at = Some(now),
            State::Available | State::Running | State::Expired => {}
        }
        self.reason = reason;
        if let Some(error) = error {
            self.error_message = Some(error.to_owned());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locked(until: i64) -> Standing {
        let mut standing = Standing::default();
        standing.take("a", Token(5), 1, Time(0));
        if let Some(lock) = &mut standing.lock {
            lock.until = Time(until);
        }
        standing
    }

    fn present(owner: &str, token: i64, verb: Option<Verb>) -> Presented<'_> {
        Presented { owner, token: Token(token), verb }
    }

    #[test]
    fn s1_the_state_is_read_off_the_columns_in_this_order() {
        let mut standing = locked(100);
        assert_eq!(standing.state(Time(99)), State::Running);
        assert_eq!(standing.state(Time(100)), State::Expired);
        standing.failed_at = Some(Time(1));
        assert_eq!(standing.state(Time(0)), State::Failed);
        standing.completed_at = Some(Time(1));
        assert_eq!(standing.state(Time(0)), State::Completed);
        assert_eq!(Standing::default().state(Time(0)), State::Available);
    }

    #[test]
    fn l3_the_guard_is_owner_and_token() {
        let standing = locked(100);
        let judged = |owner, token, now| judge(present(owner, token, None), None, None, Some(&standing), Time(now));
        assert_eq!(judged("a", 5, 9), Judgement::Held);
        assert_eq!(judged("b", 5, 9), Judgement::Lost(LostReason::Unknown));
        assert_eq!(judged("a", 6, 9), Judgement::Lost(LostReason::Unknown));
        assert_eq!(judged("a", 5, 100), Judgement::Lost(LostReason::Expired));
    }

    #[test]
    fn l12_the_same_verb_is_answered_again_and_another_is_finished() {
        let receipt = Receipt { owner: "a".into(), end: End::By(Verb::Fail, State::Available), at: Time(1) };
        let judged = |owner, verb| judge(present(owner, 5, verb), Some(&receipt), Some(Token(6)), None, Time(9));
        let again = Ended { state: State::Available, already: true };
        assert_eq!(judged("a", Some(Verb::Fail)), Judgement::Already(again));
        assert_eq!(judged("a", Some(Verb::Complete)), Judgement::Lost(LostReason::Finished));
        assert_eq!(judged("a", None), Judgement::Lost(LostReason::Finished));
        assert_eq!(judged("b", Some(Verb::Fail)), Judgement::Lost(LostReason::Unknown));
    }

    #[test]
    fn l3_a_lease_that_ran_out_is_superseded_once_the_unit_is_claimed_again() {
        let receipt = Receipt { owner: "a".into(), end: End::Expired, at: Time(1) };
        let judged = |last| judge(present("a", 5, None), Some(&receipt), Some(Token(last)), None, Time(9));
        assert_eq!(judged(5), Judgement::Lost(LostReason::Expired));
        assert_eq!(judged(6), Judgement::Lost(LostReason::Superseded));
    }

    #[test]
    fn s5_a_failed_chunk_is_tried_again_while_it_has_attempts() {
        let fail = |retry| Act::Fail { error: String::new(), retry };
        assert_eq!(settle(&fail(true), 4, 5).state, State::Available);
        assert_eq!(settle(&fail(true), 5, 5).reason, Some(Reason::AttemptsSpent));
        assert_eq!(settle(&fail(false), 1, 5).reason, Some(Reason::Failed));
        assert_eq!(settle(&Act::Release, 3, 5).attempt, 2);
    }

    #[test]
    fn l6_a_sync_has_no_crash_limit_unless_it_was_given_one() {
        assert!(!sync_crashed_out(u32::MAX, None));
        assert!(!sync_crashed_out(2, Some(3)) && sync_crashed_out(3, Some(3)));
    }

    #[test]
    fn l6_an_expiry_counts_only_if_no_chunk_was_done_since() {
        assert_eq!(sync_crashes(2, Time(5), None), 3);
        assert_eq!(sync_crashes(2, Time(5), Some(Time(4))), 3);
        assert_eq!(sync_crashes(0, Time(5), Some(Time(5))), 0);
        assert_eq!(sync_crashes(0, Time(5), Some(Time(6))), 0);
    }

    #[test]
    fn y_a_chunk_is_skipped_up_to_the_instant_its_time_is_over() {
        let fresh = |now| fresh_enough(Some(Time(0)), Some(1), Time(now));
        assert!(fresh(999) && !fresh(1_000));
        assert!(!fresh_enough(None, Some(1), Time(0)) && !fresh_enough(Some(Time(0)), None, Time(0)));
        assert!(!fresh_enough(Some(Time(0)), Some(0), Time(0)));
    }

    #[test]
    fn a_renewal_runs_from_now_and_is_counted() {
        let mut standing = Standing::default();
        standing.take("a", Token(1), 10, Time(0));
        assert_eq!(standing.renew(Time(4_000)), Some(Time(14_000)));
        assert_eq!(standing.lock.map(|lock| lock.pulse.beats), Some(1));
    }
}
