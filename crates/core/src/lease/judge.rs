//! Whether a write counts: one judgement for every face.
//!
//! A face brings what it remembers: the receipt of the claim that the writer presents, the token of the unit's last
//! claim, and the lease it is held under. Backends that repeat this in SQL for speed are compared with it by the
//! conformance suite.

use super::{Lease, LostReason, Token};
use crate::time::Time;

/// The claim a writer presents. `V` are the face's verbs.
#[derive(Clone, Copy, Debug)]
pub struct Presented<'a, V> {
    /// Who writes.
    pub owner: &'a str,
    /// Under which token.
    pub token: Token,
    /// The verb, if the write ends the claim; `None` for heartbeats.
    pub verb: Option<V>,
}

/// How a claim ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End<V, S> {
    /// Its holder ended it by this verb, which left the unit so.
    By(V, S),
    /// It ran out, and the unit moved on.
    Expired,
    /// An operator, or the end of what the unit belongs to, ended it.
    Cancelled,
}

/// What is remembered of an ended claim, for an hour at least (L12).
#[derive(Clone, Debug, PartialEq)]
pub struct Receipt<V, S> {
    /// Who held it.
    pub owner: String,
    /// How it ended.
    pub end: End<V, S>,
    /// When.
    pub at: Time,
}

/// Whether a write counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Judgement<S> {
    /// The lease is held: write.
    Held,
    /// The same write was accepted before, and left the unit so: answer as then (L12).
    Already(S),
    /// Change nothing (L3).
    Lost(LostReason),
}

impl<S> Judgement<S> {
    /// Nothing if the lease is held, what the same write was answered before, or the reason the lease is lost.
    pub fn or_lost(self) -> Result<Option<S>, LostReason> {
        match self {
            Judgement::Held => Ok(None),
            Judgement::Already(state) => Ok(Some(state)),
            Judgement::Lost(reason) => Err(reason),
        }
    }
}

/// Judges a write by the receipt of the claim it presents, the token of the unit's last claim that is remembered, and the
/// lease that the unit is held under.
#[must_use]
pub fn judge<V: PartialEq + Copy, S: Copy>(
    presented: Presented<'_, V>,
    receipt: Option<&Receipt<V, S>>,
    last: Option<Token>,
    lease: Option<&Lease>,
    now: Time,
) -> Judgement<S> {
    // Receipts come before the lease: a lost reply may be asked for long after the unit moved on (L12).
    if let Some(receipt) = receipt.filter(|receipt| receipt.owner == presented.owner) {
        return match receipt.end {
            End::By(verb, state) if Some(verb) == presented.verb => Judgement::Already(state),
            End::By(..) => Judgement::Lost(LostReason::Finished),
            End::Cancelled => Judgement::Lost(LostReason::Cancelled),
            End::Expired if last > Some(presented.token) => Judgement::Lost(LostReason::Superseded),
            End::Expired => Judgement::Lost(LostReason::Expired),
        };
    }
    match lease.filter(|lease| lease.token == presented.token && lease.owner == presented.owner) {
        Some(lease) if lease.live(now) => Judgement::Held,
        Some(_) => Judgement::Lost(LostReason::Expired),
        None => Judgement::Lost(LostReason::Unknown),
    }
}

/// Whether a unit whose lease ran out has failed for good: its attempts are spent, this one included (L6).
#[must_use]
pub fn crashed_out(attempt: u32, attempts_max: u32) -> bool {
    attempt >= attempts_max
}

#[cfg(test)]
mod tests {
    use super::*;

    fn present(owner: &str, token: i64, verb: Option<char>) -> Presented<'_, char> {
        Presented { owner, token: Token(token), verb }
    }

    /// Of a, under token 5, until 100.
    fn lease() -> Lease {
        Lease { expires_at: Time(100), ..Lease::grant("a", Token(5), 1, Time(0)) }
    }

    fn receipt(end: End<char, u8>) -> Receipt<char, u8> {
        Receipt { owner: "a".to_owned(), end, at: Time(1) }
    }

    #[test]
    fn l3_the_guard_is_owner_and_token() {
        let judged =
            |owner, token, now| judge::<char, u8>(present(owner, token, None), None, None, Some(&lease()), Time(now));
        assert_eq!(judged("a", 5, 9), Judgement::Held);
        assert_eq!(judged("b", 5, 9), Judgement::Lost(LostReason::Unknown));
        assert_eq!(judged("a", 6, 9), Judgement::Lost(LostReason::Unknown));
    }

    #[test]
    fn l4_an_expired_lease_is_lost_before_anyone_swept_it() {
        let judged = judge::<char, u8>(present("a", 5, Some('c')), None, Some(Token(5)), Some(&lease()), Time(100));
        assert_eq!(judged, Judgement::Lost(LostReason::Expired));
    }

    #[test]
    fn l3_a_lease_that_ran_out_is_superseded_once_the_unit_is_claimed_again() {
        let judged = |last| judge(present("a", 5, None), Some(&receipt(End::Expired)), last, None, Time(9));
        assert_eq!(judged(Some(Token(5))), Judgement::Lost(LostReason::Expired));
        assert_eq!(judged(None), Judgement::Lost(LostReason::Expired));
        assert_eq!(judged(Some(Token(6))), Judgement::Lost(LostReason::Superseded));
    }

    #[test]
    fn l12_the_same_verb_is_answered_again_and_another_is_finished() {
        let failed = receipt(End::By('f', 7));
        let judged = |owner, verb| judge(present(owner, 5, verb), Some(&failed), Some(Token(6)), None, Time(9));
        assert_eq!(judged("a", Some('f')), Judgement::Already(7));
        assert_eq!(judged("a", Some('c')), Judgement::Lost(LostReason::Finished));
        assert_eq!(judged("a", None), Judgement::Lost(LostReason::Finished));
        assert_eq!(judged("b", Some('f')), Judgement::Lost(LostReason::Unknown));
    }

    #[test]
    fn l11_a_claim_that_an_operator_ended_is_cancelled_whoever_claimed_since() {
        for last in [5, 6] {
            let cancelled = receipt(End::Cancelled);
            let judged = judge(present("a", 5, Some('c')), Some(&cancelled), Some(Token(last)), None, Time(9));
            assert_eq!(judged, Judgement::Lost(LostReason::Cancelled));
        }
    }
}
