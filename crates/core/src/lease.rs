//! Leases: the right to work on one unit until a deadline.
//!
//! Every grant carries a [`Token`], a number that only grows. Later writes name their token; a write under an old
//! token changes nothing.
//!
//! Always true:
//! - L1 a lease is held by whoever presents its owner and token while `expires_at > now`;
//! - L2 tokens strictly grow and never repeat;
//! - L4 an expired lease is lost, whether or not anyone has noticed yet.

use crate::time::Time;
use std::fmt;

/// A fencing number: `epoch × 2^40 + counter` (L2). It is not a secret; it is handed to user code so that *their*
/// database can refuse an older writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Token(pub i64);

/// Bits of a token below its epoch: room for 10^12 grants between two restores.
const COUNTER_BITS: u32 = 40;
/// The last epoch whose tokens stay below 2^53, so that they survive as JSON numbers.
pub const EPOCH_MAX: u16 = 8191;

impl Token {
    /// The token of the `counter`th grant since the store began, under `epoch`.
    #[must_use]
    pub fn new(epoch: u16, counter: u64) -> Token {
        assert!(epoch <= EPOCH_MAX, "epoch {epoch} is beyond {EPOCH_MAX}");
        assert!(counter < 1 << COUNTER_BITS, "the grant counter is spent: raise the epoch");
        Token((i64::from(epoch) << COUNTER_BITS) | counter as i64)
    }

    /// The epoch this token was drawn in.
    #[must_use]
    pub fn epoch(self) -> u16 {
        (self.0 >> COUNTER_BITS) as u16
    }
}

impl fmt::Display for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Why a lease is not held (L3). Ordered as a reader would rule them out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum LostReason {
    /// It ran out, and nobody has claimed the unit since.
    Expired,
    /// The unit was claimed again since.
    Superseded,
    /// The holder ended it, with another verb or before this write.
    Finished,
    /// An operator ended it.
    Cancelled,
    /// This owner and token were never granted together, or are no longer remembered.
    Unknown,
}

impl LostReason {
    /// Every reason, for parsing and for tests.
    pub const ALL: [LostReason; 5] =
        [LostReason::Expired, LostReason::Superseded, LostReason::Finished, LostReason::Cancelled, LostReason::Unknown];

    /// The word used on every surface.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            LostReason::Expired => "expired",
            LostReason::Superseded => "superseded",
            LostReason::Finished => "finished",
            LostReason::Cancelled => "cancelled",
            LostReason::Unknown => "unknown",
        }
    }

    /// The reason spelled `word`.
    #[must_use]
    pub fn parse(word: &str) -> Option<LostReason> {
        LostReason::ALL.into_iter().find(|reason| reason.as_str() == word)
    }

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

impl fmt::Display for LostReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// How a lease has been kept so far; shown with the attempt it belongs to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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

    #[test]
    fn l2_a_later_epoch_outranks_every_counter_of_an_earlier_one() {
        let last_of_first = Token::new(0, (1 << COUNTER_BITS) - 1);
        let first_of_second = Token::new(1, 0);
        assert!(first_of_second > last_of_first);
        assert_eq!(first_of_second.epoch(), 1);
    }

    #[test]
    fn l2_the_largest_token_is_an_exact_json_number() {
        assert!(Token::new(EPOCH_MAX, (1 << COUNTER_BITS) - 1).0 < 1 << 53);
    }

    #[test]
    fn a_clock_that_stepped_back_never_shortens_a_lease() {
        assert_eq!(renewed(Some(Time(5_000_000)), Time(0), 1_000), Time(5_000_000));
    }

    #[test]
    fn the_longest_gap_counts_from_the_grant() {
        let mut pulse = Pulse::default();
        pulse.beat(Time(0), Time(3_000_000));
        pulse.beat(Time(0), Time(4_000_000));
        assert_eq!(pulse, Pulse { beats: 2, last_beat_at: Some(Time(4_000_000)), longest_gap_ms: 3_000 });
    }
}
