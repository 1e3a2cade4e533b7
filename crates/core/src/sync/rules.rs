//! What may happen to one sync or chunk. Pure: the caller has read the facts and will write what is decided.

use super::event::{SyncEvent, What};
use super::request::{Act, ChunkClaim, ClaimedChunk, ClaimedSync, Ending, SyncClaim, Verb};
use super::unit::{Chunk, Reason, Standing, State, Sync, Unit};
use crate::actor::Actor;
use crate::lease::{Lease, Token, crashed_out};
use crate::time::Time;

/// How long an ended sync is kept, unless it is the last of its matrix: seven days, as finished jobs.
pub const RETENTION_MS: u64 = 7 * 86_400_000;

/// How a claim of a sync or chunk ended.
pub type End = crate::lease::End<Verb, State>;

/// What is remembered of such a claim.
pub type Receipt = crate::lease::Receipt<Verb, State>;

/// What is written down beside a unit that changed: what happened, and the receipt of the claim that ended.
#[derive(Debug, Default)]
pub struct Notes {
    /// What happened (L8).
    pub events: Vec<SyncEvent>,
    /// The claim that ended.
    pub receipt: Option<(Token, Receipt)>,
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
        let lease = Lease::grant(owner, token, lease_ms, now);
        let expires_at = lease.expires_at;
        self.token = Some(token);
        self.claimed_at = Some(now);
        self.lease = Some(lease);
        self.told = false;
        expires_at
    }

    /// Renews its lease; the new deadline. `None` if it has none.
    pub fn renew(&mut self, now: Time) -> Option<Time> {
        self.lease.as_mut().map(|lease| lease.renew(now))
    }

    /// Takes its lease away.
    pub fn free(&mut self) {
        self.lease = None;
        self.told = false;
    }

    /// Ends it or puts it back: where it stands from `now` on, without a lease.
    pub fn settle(&mut self, state: State, reason: Option<Reason>, error: Option<&str>, now: Time) {
        self.free();
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

    /// What will be remembered of the claim it is held under, once that has ended so.
    #[must_use]
    pub fn receipt(&self, end: End, now: Time) -> Option<(Token, Receipt)> {
        let lease = self.lease.as_ref()?;
        Some((lease.token, Receipt { owner: lease.owner.clone(), end, at: now }))
    }

    /// Notices that its lease ran out, once for its token (L7): `None` if it has not, or was noticed before.
    fn tell(&mut self, now: Time) -> Option<Lease> {
        let lapsed = self.lapsed(now).filter(|_| !self.told).cloned()?;
        self.told = true;
        Some(lapsed)
    }

    /// What is written down of the lease of a unit that ends with its sync, not by its holder. One that ran out before
    /// stays lost for that reason.
    fn parted(&self, unit: &Unit, attempt: u32, now: Time) -> Notes {
        let Some(lease) = &self.lease else { return Notes::default() };
        let event = |what| SyncEvent::new(now, unit, what).under(lease);
        let (end, event) = match (lease.live(now), self.told) {
            (true, _) => (End::Cancelled, Some(event(What::Cancelled))),
            (false, true) => (End::Expired, None),
            (false, false) => (End::Expired, Some(SyncEvent { attempt: Some(attempt), ..event(What::Expired) })),
        };
        Notes { events: event.into_iter().collect(), receipt: self.receipt(end, now) }
    }
}

impl Sync {
    /// Puts it into the hands of its claimer.
    pub fn take(&mut self, claim: &SyncClaim, token: Token, now: Time) -> ClaimedSync {
        let lease_expires_at = self.standing.take(&claim.owner, token, claim.lease_ms, now);
        ClaimedSync {
            id: self.id,
            matrix_id: self.matrix_id.clone(),
            priority: self.priority,
            created_at: self.created_at,
            planned: self.planned,
            token,
            lease_expires_at,
        }
    }

    /// Notices that its lease ran out, where a chunk was last done at `last_done_at`: what is written down, and whether it
    /// has crashed out, and is to be ended. `None` if there is nothing to notice.
    pub fn expire(&mut self, last_done_at: Option<Time>, now: Time) -> Option<(Notes, bool)> {
        let lease = self.standing.tell(now)?;
        self.crashes = sync_crashes(self.crashes, lease.expires_at, last_done_at);
        let unit = Unit::sync(self.id);
        let event = |what| SyncEvent::new(now, &unit, what).under(&lease);
        let mut events = vec![SyncEvent { attempt: Some(self.crashes), ..event(What::Expired) }];
        let crashed_out = sync_crashed_out(self.crashes, self.crashes_max);
        if crashed_out {
            events.push(SyncEvent { reason: Some(Reason::CrashLimit), ..event(What::Failed) });
        }
        let receipt = self.standing.receipt(End::Expired, now).filter(|_| crashed_out);
        Some((Notes { events, receipt }, crashed_out))
    }

    /// What is written down when an operator cancels it.
    #[must_use]
    pub fn cancelled(&self, why: Option<&str>, by: &Actor, now: Time) -> Notes {
        let unit = Unit::sync(self.id);
        let mut notes = self.standing.parted(&unit, self.crashes, now);
        // Of the sync's own holder the sync's event tells.
        notes.events.retain(|event| event.what != What::Cancelled);
        let event = SyncEvent::new(now, &unit, What::Cancelled).acted(by).error(why);
        notes.events.push(SyncEvent { reason: Some(Reason::Cancelled), ..event });
        notes
    }
}

impl Chunk {
    fn unit(&self) -> Unit {
        Unit::chunk(self.sync, &self.chunk_hash)
    }

    /// Puts it into the hands of its claimer.
    pub fn take(&mut self, claim: &ChunkClaim, token: Token, now: Time) -> ClaimedChunk {
        let lease_expires_at = self.standing.take(&claim.owner, token, claim.lease_ms, now);
        self.attempt += 1;
        ClaimedChunk {
            sync: self.sync,
            matrix_id: self.matrix_id.clone(),
            chunk_hash: self.chunk_hash.clone(),
            payload: self.payload.clone(),
            attempt: self.attempt,
            attempts_max: self.attempts_max,
            token,
            lease_expires_at,
            last_synced_at: self.last_synced_at,
            row_count: self.row_count,
            cursor: self.cursor.clone(),
        }
    }

    /// Notices that its lease ran out, and fails it with its attempts spent (L6: its claim was its start): what is written
    /// down, and whether it failed. `None` if there is nothing to notice.
    pub fn expire(&mut self, now: Time) -> Option<(Notes, bool)> {
        let lease = self.standing.tell(now)?;
        let (unit, attempt) = (self.unit(), Some(self.attempt));
        let event = |what| SyncEvent { attempt, ..SyncEvent::new(now, &unit, what).under(&lease) };
        let mut notes = Notes { events: vec![event(What::Expired)], receipt: None };
        let crashed_out = crashed_out(self.attempt, self.attempts_max);
        if crashed_out {
            let reason = Reason::CrashLimit;
            notes.events.push(SyncEvent { reason: Some(reason), ..event(What::Failed) });
            notes.receipt = self.standing.receipt(End::Expired, now);
            self.standing.settle(State::Failed, Some(reason), Some(reason.as_str()), now);
        }
        Some((notes, crashed_out))
    }

    /// Ends its lease because its sync ends.
    pub fn part(&mut self, now: Time) -> Notes {
        let notes = self.standing.parted(&self.unit(), self.attempt, now);
        self.standing.free();
        notes
    }

    /// What its holder's ending makes of it: where it stands, and what is told of that.
    pub fn finish(&mut self, ending: &Ending, now: Time) -> (State, Option<SyncEvent>) {
        let settled = settle(&ending.act, self.attempt, self.attempts_max);
        let mut told = None;
        self.attempt = settled.attempt;
        match &ending.act {
            Act::Complete { row_count, cursor } => {
                self.last_synced_at = Some(now);
                self.row_count = *row_count;
                self.cursor = cursor.clone().or(self.cursor.take());
            }
            Act::Fail { error, .. } => {
                let what = if settled.state == State::Failed { What::Failed } else { What::Retried };
                let event = ending.event(what, now);
                told = Some(SyncEvent { attempt: Some(settled.attempt), reason: settled.reason, ..event });
                self.standing.error_message = Some(error.clone());
            }
            Act::Release => {}
        }
        self.standing.settle(settled.state, settled.reason, None, now);
        (settled.state, told)
    }
}

impl Ending {
    /// What is told of it, with the error of a failure.
    #[must_use]
    pub fn event(&self, what: What, now: Time) -> SyncEvent {
        let error = match &self.act {
            Act::Fail { error, .. } => Some(error.as_str()),
            Act::Complete { .. } | Act::Release => None,
        };
        SyncEvent::new(now, &self.unit, what).by(&self.owner, Some(self.token)).error(error)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn locked(until: i64) -> Standing {
        let mut standing = Standing::default();
        standing.take("a", Token(5), 1, Time(0));
        if let Some(lease) = &mut standing.lease {
            lease.expires_at = Time(until);
        }
        standing
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
}
