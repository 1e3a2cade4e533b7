//! Leases: the right to work on one unit until a deadline.
//!
//! Every grant carries a [`Token`], a number that only grows. Later writes name their token; a write under an old
//! token changes nothing.
//!
//! Always true:
//! - L1 a lease is held by whoever presents its owner and token while `expires_at > now`;
//! - L2 tokens strictly grow and never repeat;
//! - L4 an expired lease is lost, whether or not anyone has noticed yet;
//! - L12 an ending that was accepted is answered again from its receipt, which comes before the lease.
//!
//! [`judge`] decides for every face; a face adds only what is its own.

mod judge;

pub use judge::{End, Judgement, Presented, Receipt, crashed_out, judge};

use crate::time::Time;
use crate::words::words;
use std::fmt;

/// A fencing number: what the store's one counter said when the unit was claimed (L2). It is not a secret; it is handed
/// to user code so that *their* database can refuse an older writer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize), serde(transparent))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Token(pub i64);

impl Token {
    /// The last there is: all stay below 2^53, so that they survive as JSON numbers.
    pub const MAX: Token = Token((1 << 53) - 1);

    /// The token after this one, the last that was drawn (L2): larger also than those that were lost in a restore, for
    /// then the epoch was raised, and `base` is its base.
    #[must_use]
    pub fn next(self, base: Token) -> Token {
        let next = Token(self.0 + 1).max(base);
        assert!(next <= Token::MAX, "the tokens are spent");
        next
    }
}

/// How often the counter of a store was moved ahead, and to where the last time (L2).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Epoch {
    /// Counts the raises.
    pub count: u32,
    /// Tokens of jobs, units, syncs and chunks drawn since are larger; those of domains are at least as large.
    pub base: Token,
}

/// The counter of a store's tokens.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tokens {
    /// The last one drawn; zero before the first.
    pub last: Token,
    /// The last raise.
    pub epoch: Epoch,
}

/// 2026-01-01T00:00:00Z, in milliseconds since 1970: where the tokens of a clock begin.
const CLOCK_FROM_MS: i64 = 1_767_225_600_000;
/// Tokens a millisecond is worth. Nobody draws four million a second, so no history outruns the clock; and they last
/// until 2095.
const PER_MS: i64 = 1 << 12;

impl Tokens {
    /// The next token. Drawn after the unit is locked: one drawn before could be overtaken.
    pub fn draw(&mut self) -> Token {
        self.last = self.last.next(self.epoch.base);
        self.last
    }

    /// Moves the counter ahead, beyond whatever any other history of this store can have drawn: one more than the last is
    /// not new where the same backup was restored before. `None`, and nothing changed, if no token would be left there:
    /// the clock is far ahead.
    pub fn raise(&mut self, now: Time) -> Option<Epoch> {
        let by_clock = (now.0.div_euclid(1_000) - CLOCK_FROM_MS).saturating_mul(PER_MS);
        let base = Token(by_clock.max(self.last.0 + 1));
        if base >= Token::MAX {
            return None;
        }
        self.last = base;
        self.epoch = Epoch { count: self.epoch.count + 1, base };
        Some(self.epoch)
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

words! {
    /// Why a lease is not held (L3). Ordered as a reader would rule them out.
    LostReason {
        /// It ran out, and nobody has claimed the unit since.
        Expired = "expired",
        /// The unit was claimed again since.
        Superseded = "superseded",
        /// The holder ended it, with another verb or before this write.
        Finished = "finished",
        /// An operator ended it.
        Cancelled = "cancelled",
        /// This owner and token were never granted together, or are no longer remembered.
        Unknown = "unknown",
    }
}

impl LostReason {
    /// What happened, for the person who meets it.
    #[must_use]
    pub fn sentence(self) -> &'static str {
        match self {
            LostReason::Expired => "the lease ran out; stop working on it, it will be given to someone else",
            LostReason::Superseded => "the unit was claimed again since; stop working on it",
            LostReason::Finished => "the work under this token has already ended",
            LostReason::Cancelled => "an operator cancelled the work",
            LostReason::Unknown => "this owner and token were never granted together, or are no longer remembered",
        }
    }
}

/// How a lease has been kept so far; shown with the attempt it belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "schema", derive(utoipa::ToSchema))]
pub struct Pulse {
    /// Accepted heartbeats.
    pub beats: u32,
    /// The last of them.
    pub last_beat_at: Option<Time>,
    /// The longest silence before an accepted heartbeat, in milliseconds.
    pub longest_gap_ms: u64,
}

impl Pulse {
    /// One more heartbeat at `now`, under a lease granted at `granted_at`.
    pub fn beat(&mut self, granted_at: Time, now: Time) {
        let silent_ms = now.ms_since(self.last_beat_at.unwrap_or(granted_at));
        self.beats = self.beats.saturating_add(1);
        self.last_beat_at = Some(now);
        self.longest_gap_ms = self.longest_gap_ms.max(silent_ms);
    }
}

/// The lease under which a unit is held.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lease {
    /// Who holds it.
    pub owner: String,
    /// Its fencing token.
    pub token: Token,
    /// When it was granted.
    pub granted_at: Time,
    /// For how long it was granted, and is renewed.
    pub lease_ms: u64,
    /// When it runs out, unless renewed.
    pub expires_at: Time,
    /// How it was kept so far.
    pub pulse: Pulse,
}

impl Lease {
    /// The span of a lease that never runs out, which only domains have (D4).
    pub const ENDLESS: u64 = u64::MAX;

    /// A lease from `now` on.
    pub fn grant(owner: impl Into<String>, token: Token, lease_ms: u64, now: Time) -> Lease {
        let expires_at = renewed(None, now, lease_ms);
        Lease { owner: owner.into(), token, granted_at: now, lease_ms, expires_at, pulse: Pulse::default() }
    }

    /// Whether it still runs (L1).
    #[must_use]
    pub fn live(&self, now: Time) -> bool {
        live(self.expires_at, now)
    }

    /// For how long it was granted; `None` if it never runs out.
    #[must_use]
    pub fn span_ms(&self) -> Option<u64> {
        Some(self.lease_ms).filter(|ms| *ms != Lease::ENDLESS)
    }

    /// When it runs out, if it does.
    #[must_use]
    pub fn deadline(&self) -> Option<Time> {
        self.span_ms().map(|_| self.expires_at)
    }

    /// Renews it by what was granted (Q3); the new deadline.
    pub fn renew(&mut self, now: Time) -> Time {
        self.expires_at = renewed(Some(self.expires_at), now, self.lease_ms);
        self.pulse.beat(self.granted_at, now);
        self.expires_at
    }
}

/// Whether a lease that runs until `expires_at` is still held at `now` (L1: the last instant is already lost).
#[must_use]
pub fn live(expires_at: Time, now: Time) -> bool {
    expires_at > now
}

/// When a lease granted or renewed at `now` for `lease_ms` runs out. A renewal never shortens it (a clock that
/// stepped back must not), so the old deadline is given too.
#[must_use]
pub fn renewed(expires_at: Option<Time>, now: Time, lease_ms: u64) -> Time {
    let until = now.plus_ms(lease_ms);
    expires_at.map_or(until, |old| old.max(until))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn l1_the_last_instant_of_a_lease_is_already_lost() {
        assert!(live(Time(10), Time(9)));
        assert!(!live(Time(10), Time(10)));
    }

    const NOON: Time = Time((CLOCK_FROM_MS + 43_200_000) * 1_000);

    #[test]
    fn l2_two_restores_of_one_backup_draw_no_token_twice() {
        let mut backup = Tokens::default();
        backup.draw();
        let drawn = |mut tokens: Tokens, from: Time| {
            tokens.raise(from).unwrap();
            (0..1_000).map(|_| tokens.draw()).collect::<Vec<_>>()
        };
        let (first, second) = (drawn(backup, NOON), drawn(backup, NOON.plus_ms(1)));
        assert!(backup.last < first[0] && first[999] < second[0]);
    }

    #[test]
    fn l2_a_clock_that_was_set_back_never_moves_the_counter_back() {
        let mut tokens = Tokens::default();
        tokens.raise(NOON).unwrap();
        let before = tokens.draw();
        let raised = tokens.raise(Time(0)).unwrap();
        assert_eq!((raised.count, raised.base), (2, Token(before.0 + 1)));
        assert_eq!(tokens.draw(), Token(before.0 + 2));
    }

    #[test]
    fn l2_a_clock_far_ahead_is_refused_before_it_spends_the_tokens() {
        let mut tokens = Tokens::default();
        tokens.draw();
        let before = tokens;
        for now in [Time((CLOCK_FROM_MS + (1 << 41)) * 1_000), Time(i64::MAX)] {
            assert_eq!((tokens.raise(now), tokens), (None, before));
        }
        let last_ms = Time((CLOCK_FROM_MS + (1 << 41) - 1) * 1_000);
        assert!(tokens.raise(last_ms).unwrap().base < Token::MAX && tokens.draw() <= Token::MAX);
    }

    #[test]
    fn a_clock_that_stepped_back_never_shortens_a_lease() {
        assert_eq!(renewed(Some(Time(5_000_000)), Time(0), 1_000), Time(5_000_000));
    }

    #[test]
    fn a_renewal_runs_from_now_and_is_counted() {
        let mut lease = Lease::grant("a", Token(1), 10, Time(0));
        assert_eq!(lease.renew(Time(4_000)), Time(14_000));
        assert_eq!(lease.pulse.beats, 1);
    }

    #[test]
    fn the_longest_gap_counts_from_the_grant() {
        let mut pulse = Pulse::default();
        pulse.beat(Time(0), Time(3_000_000));
        pulse.beat(Time(0), Time(4_000_000));
        assert_eq!(pulse, Pulse { beats: 2, last_beat_at: Some(Time(4_000_000)), longest_gap_ms: 3_000 });
    }
}
