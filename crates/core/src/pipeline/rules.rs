//! What may happen to one unit. Pure: the caller has read the facts and writes what is decided here.

use super::request::{Act, Ended};
use super::unit::{Attempt, Outcome, Reason, Record, Status, Unit, Verb};
use crate::lease::{LostReason, Token, live};
use crate::retry::Retry;
use crate::time::Time;

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

/// Judges a write by `owner` under `token`; `receipt` is that claim, if it has ended, `last` the last claim of the unit
/// that is remembered, whatever became of the unit since, and `verb` is `None` for a heartbeat.
#[must_use]
pub fn judge(
    owner: &str,
    token: Token,
    verb: Option<Verb>,
    receipt: Option<&Attempt>,
    last: Option<Token>,
    unit: Option<&Unit>,
    now: Time,
) -> Judgement {
    if let Some(attempt) = receipt.filter(|attempt| attempt.owner == owner) {
        return match attempt.verb {
            Some(of) if Some(of) == verb => Judgement::Already(Ended { status: attempt.status, already: true }),
            Some(_) => Judgement::Lost(LostReason::Finished),
            None if attempt.outcome == Outcome::Cancelled => Judgement::Lost(LostReason::Cancelled),
            None if last > Some(token) => Judgement::Lost(LostReason::Superseded),
            None => Judgement::Lost(LostReason::Expired),
        };
    }
    match unit.and_then(|unit| unit.lease.as_ref()) {
        Some(lease) if lease.token == token && lease.owner == owner => {
            if live(lease.expires_at, now) {
                Judgement::Held
            } else {
                Judgement::Lost(LostReason::Expired)
            }
        }
        _ => Judgement::Lost(LostReason::Unknown),
    }
}

/// What an ending makes of a unit.
#[derive(Clone, Debug, PartialEq)]
pub struct Settled {
    /// How the attempt ended.
    pub outcome: Outcome,
    /// Where the unit stands now.
    pub status: Status,
    /// Why it is finally `ERROR`.
    pub reason: Option<Reason>,
    /// When it is tried again.
    pub retry_at: Option<Time>,
    /// Attempts that count from now on (L6).
    pub attempt: u32,
}

/// What the holder's ending makes of a unit (P2, P4, P6).
#[must_use]
pub fn settle(act: &Act, unit: &Unit, now: Time) -> Settled {
    let to = |outcome, status, attempt| Settled { outcome, status, reason: None, retry_at: None, attempt };
    let failed = |reason| Settled { reason: Some(reason), ..to(Outcome::Failed, Status::Error, unit.attempt) };
    let retried = |delay_ms| Settled {
        retry_at: Some(now.plus_ms(delay_ms)),
        ..to(Outcome::Retried, Status::Error, unit.attempt)
    };
    match act {
        Act::Complete { .. } => to(Outcome::Completed, Status::Done, unit.attempt),
        Act::Release => to(Outcome::Released, Status::Ready, unit.attempt.saturating_sub(1)),
        // The join has attempts of its own.
        Act::Split { .. } => to(Outcome::Split, Status::New, 0),
        Act::Fail { retry: Retry::Never, .. } => failed(Reason::Failed),
        Act::Fail { retry: Retry::Cancel, .. } => failed(Reason::Cancelled),
        Act::Fail { .. } if unit.attempt >= unit.attempts_max => failed(Reason::AttemptsSpent),
        Act::Fail { retry: Retry::In { delay_ms }, .. } => retried(*delay_ms),
        Act::Fail { retry: Retry::Policy { chance } | Retry::TimedOut { chance }, .. } => {
            retried(unit.backoff.unwrap_or_default().delay_ms(unit.attempt, *chance))
        }
    }
}

/// What an expired lease makes of a unit: back to `READY`, or finally `ERROR` with its attempts spent (L6).
#[must_use]
pub fn expire(unit: &Unit) -> Settled {
    let spent = unit.attempt >= unit.attempts_max;
    Settled {
        outcome: Outcome::Expired,
        status: if spent { Status::Error } else { Status::Ready },
        reason: spent.then_some(Reason::CrashLimit),
        retry_at: None,
        attempt: unit.attempt,
    }
}

/// The record that an accepted completion leaves: what it brought, or what was recorded under this very claim (P7).
#[must_use]
pub fn completed_record(brought: Option<Record>, before: Option<Record>, token: Token) -> Option<Record> {
    brought.map(|record| Record { token, ..record }).or_else(|| before.filter(|record| record.token == token))
}

/// What a stage says when its segment has failed for good.
#[must_use]
pub fn segment_error(segment: &str, reason: Reason) -> String {
    format!("segment {segment} failed for good ({reason})")
}

/// A unit begun anew: its attempts, its ending, its output, and what it said of its progress and errors are forgotten.
pub fn reset(unit: &mut Unit, status: Status, now: Time) {
    unit.status = status;
    unit.reason = None;
    unit.retry_at = None;
    unit.attempt = 0;
    unit.output = None;
    unit.error = None;
    unit.progress = None;
    unit.changed_at = now;
}
