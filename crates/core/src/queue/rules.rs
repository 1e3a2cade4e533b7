//! What may happen to one job. Pure: the caller has read the facts and will write what is decided.
//!
//! [`judge`] says whether a write under some owner and token counts; [`settle`] and [`expire`] say what an ending or
//! an expiry does. Backends that repeat these rules in SQL for speed are compared with them by the conformance suite.

use super::job::{Attempt, Outcome, Reason, Status};
use super::request::{Act, Ended, Verb};
use crate::lease::{LostReason, Token, live};
use crate::retry::Backoff;
use crate::retry::Retry;
use crate::time::Time;

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

/// The lease a job runs under, as far as a judgement needs it.
#[derive(Clone, Copy, Debug)]
pub struct Current<'a> {
    /// Who holds it.
    pub owner: &'a str,
    /// Its token.
    pub token: Token,
    /// When it runs out.
    pub expires_at: Time,
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

/// Judges a write by the job's ended claims, the token of its last claim, and the lease it runs under.
#[must_use]
pub fn judge(
    presented: Presented<'_>,
    ended: &[Attempt],
    last_token: Option<Token>,
    current: Option<Current<'_>>,
    now: Time,
) -> Judgement {
    // Receipts come before the lease: a lost reply may be asked for long after the job moved on (L12).
    let receipt = ended.iter().rev().find(|a| a.token == presented.token && a.owner == presented.owner);
    if let Some(attempt) = receipt {
        let outcome = attempt.outcome.unwrap_or(Outcome::Expired);
        return match attempt.verb {
            Some(verb) if Some(verb) == presented.verb => {
                Judgement::Already(Ended { status: outcome.status(), already: true })
            }
            Some(_) => Judgement::Lost(LostReason::Finished),
            None if outcome == Outcome::Cancelled => Judgement::Lost(LostReason::Cancelled),
            None if last_token == Some(presented.token) => Judgement::Lost(LostReason::Expired),
            None => Judgement::Lost(LostReason::Superseded),
        };
    }
    match current {
        Some(lease) if lease.token == presented.token && lease.owner == presented.owner => {
            if live(lease.expires_at, now) { Judgement::Held } else { Judgement::Lost(LostReason::Expired) }
        }
        _ => Judgement::Lost(LostReason::Unknown),
    }
}

impl Outcome {
    /// Where an attempt that ended so left its job. An expiry at the crash limit is the one exception: there the
    /// job's own reason says more, and no receipt is ever answered from it.
    #[must_use]
    pub fn status(self) -> Status {
        match self {
            Outcome::Completed => Status::Completed,
            Outcome::Failed | Outcome::Cancelled => Status::Failed,
            Outcome::Retried | Outcome::Snoozed | Outcome::Released | Outcome::Expired => Status::Queued,
        }
    }
}

/// What is known of a running job when it ends.
#[derive(Clone, Copy, Debug)]
pub struct Running {
    /// Attempts counted, this one included.
    pub attempt: u32,
    /// Attempts it may have.
    pub attempts_max: u32,
    /// Its own backoff.
    pub backoff: Option<Backoff>,
    /// When it became due.
    pub run_at: Time,
    /// An operator asked to cancel it (L11).
    pub cancel_requested: bool,
}

/// What an ending makes of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Settled {
    /// How the attempt ended.
    pub outcome: Outcome,
    /// Where the job stands now.
    pub status: Status,
    /// Why it failed, if it did.
    pub reason: Option<Reason>,
    /// Attempts that count from now on (L6).
    pub attempt: u32,
    /// When it is due again, if it is queued.
    pub run_at: Time,
}

/// What the holder's ending makes of a job (Q4, Q6). Once an operator asked to cancel, only `complete` and a final
/// `fail` are the holder's own; anything that would put the job back ends it (L11).
#[must_use]
pub fn settle(act: &Act, job: Running, now: Time) -> Settled {
    let settled = settle_uncancelled(act, job, now);
    if job.cancel_requested && settled.status == Status::Queued {
        return cancelled(Outcome::Cancelled, job);
    }
    settled
}

fn cancelled(outcome: Outcome, job: Running) -> Settled {
    Settled {
        outcome,
        status: Status::Failed,
        reason: Some(Reason::Cancelled),
        attempt: job.attempt,
        run_at: job.run_at,
    }
}

fn settle_uncancelled(act: &Act, job: Running, now: Time) -> Settled {
    let queued = |outcome, attempt, run_at| Settled { outcome, status: Status::Queued, reason: None, attempt, run_at };
    let failed = |reason| Settled {
        outcome: Outcome::Failed,
        status: Status::Failed,
        reason: Some(reason),
        attempt: job.attempt,
        run_at: job.run_at,
    };
    match act {
        Act::Complete { .. } => Settled {
            outcome: Outcome::Completed,
            status: Status::Completed,
            reason: None,
            attempt: job.attempt,
            run_at: job.run_at,
        },
        Act::Fail { retry: Retry::Never, .. } => failed(Reason::Failed),
        Act::Fail { retry: Retry::Cancel, .. } => failed(Reason::Cancelled),
        Act::Fail { retry: Retry::TimedOut { .. }, .. } if job.attempt >= job.attempts_max => failed(Reason::Timeout),
        Act::Fail { .. } if job.attempt >= job.attempts_max => failed(Reason::AttemptsSpent),
        Act::Fail { retry: Retry::In { delay_ms }, .. } => {
            queued(Outcome::Retried, job.attempt, now.plus_ms(*delay_ms))
        }
        Act::Fail { retry: Retry::Policy { chance } | Retry::TimedOut { chance }, .. } => {
            let delay_ms = job.backoff.unwrap_or_default().delay_ms(job.attempt, *chance);
            queued(Outcome::Retried, job.attempt, now.plus_ms(delay_ms))
        }
        // Snooze and release give the attempt back; the token stays grown (L6, L2).
        Act::Snooze { delay_ms } => queued(Outcome::Snoozed, job.attempt.saturating_sub(1), now.plus_ms(*delay_ms)),
        Act::Release => queued(Outcome::Released, job.attempt.saturating_sub(1), job.run_at),
    }
}

/// What an expired lease makes of a job (Q5, L6, L11): started work counts and ends at the crash limit, or as timed
/// out if it was not the worker that went silent but the attempt that took too long; work that was only prefetched
/// gets its attempt back.
#[must_use]
pub fn expire(started: bool, timed_out: bool, job: Running) -> Settled {
    if job.cancel_requested {
        return cancelled(Outcome::Expired, job);
    }
    let spent = started && job.attempt >= job.attempts_max;
    let reason = if timed_out { Reason::Timeout } else { Reason::CrashLimit };
    Settled {
        outcome: Outcome::Expired,
        status: if spent { Status::Failed } else { Status::Queued },
        reason: spent.then_some(reason),
        attempt: if started { job.attempt } else { job.attempt.saturating_sub(1) },
        run_at: job.run_at,
    }
}

/// What a forced cancel makes of a running job (L11).
#[must_use]
pub fn force_cancel(job: Running) -> Settled {
    cancelled(Outcome::Cancelled, job)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lease::Pulse;

    const JOB: Running =
        Running { attempt: 2, attempts_max: 3, backoff: None, run_at: Time(7), cancel_requested: false };

    fn ended(token: i64, owner: &str, outcome: Outcome, verb: Option<Verb>) -> Attempt {
        Attempt {
            token: Token(token),
            owner: owner.into(),
            claimed_at: Time(0),
            ended_at: Some(Time(1)),
            outcome: Some(outcome),
            verb,
            error: None,
            pulse: Pulse::default(),
        }
    }

    fn present(owner: &str, token: i64, verb: Option<Verb>) -> Presented<'_> {
        Presented { owner, token: Token(token), verb }
    }

    fn lease(owner: &str, token: i64) -> Option<Current<'_>> {
        Some(Current { owner, token: Token(token), expires_at: Time(100) })
    }

    #[test]
    fn l3_the_guard_is_owner_and_token() {
        let judged = |owner, token| judge(present(owner, token, None), &[], Some(Token(5)), lease("a", 5), Time(9));
        assert_eq!(judged("a", 5), Judgement::Held);
        assert_eq!(judged("b", 5), Judgement::Lost(LostReason::Unknown));
        assert_eq!(judged("a", 6), Judgement::Lost(LostReason::Unknown));
    }

    #[test]
    fn l4_an_expired_lease_is_lost_before_anyone_swept_it() {
        let judged = judge(present("a", 5, Some(Verb::Complete)), &[], Some(Token(5)), lease("a", 5), Time(100));
        assert_eq!(judged, Judgement::Lost(LostReason::Expired));
    }

    #[test]
    fn l3_an_old_token_of_the_same_owner_is_superseded() {
        let history = [ended(5, "a", Outcome::Expired, None)];
        let judged = judge(present("a", 5, Some(Verb::Complete)), &history, Some(Token(6)), lease("a", 6), Time(9));
        assert_eq!(judged, Judgement::Lost(LostReason::Superseded));
    }

    #[test]
    fn l12_the_same_verb_is_answered_again_and_another_is_finished() {
        let history = [ended(5, "a", Outcome::Retried, Some(Verb::Fail))];
        let judged = |verb| judge(present("a", 5, verb), &history, Some(Token(6)), lease("b", 6), Time(9));
        assert_eq!(judged(Some(Verb::Fail)), Judgement::Already(Ended { status: Status::Queued, already: true }));
        assert_eq!(judged(Some(Verb::Complete)), Judgement::Lost(LostReason::Finished));
        assert_eq!(judged(None), Judgement::Lost(LostReason::Finished));
    }

    #[test]
    fn l6_snooze_and_release_give_the_attempt_back() {
        assert_eq!(settle(&Act::Release, JOB, Time(50)).attempt, 1);
        let snoozed = settle(&Act::Snooze { delay_ms: 1 }, JOB, Time(50));
        assert_eq!((snoozed.attempt, snoozed.run_at), (1, Time(1_050)));
    }

    #[test]
    fn l6_only_started_work_counts_towards_the_crash_limit() {
        let last = Running { attempt: 3, ..JOB };
        assert_eq!(expire(true, false, last).reason, Some(Reason::CrashLimit));
        let neighbour = expire(false, false, last);
        assert_eq!((neighbour.status, neighbour.attempt), (Status::Queued, 2));
    }

    #[test]
    fn q6_the_last_attempt_is_not_retried_whatever_the_wait() {
        let last = Running { attempt: 3, ..JOB };
        for retry in [Retry::Policy { chance: 0.0 }, Retry::In { delay_ms: 0 }] {
            let settled = settle(&Act::Fail { error: String::new(), retry }, last, Time(50));
            assert_eq!(settled.reason, Some(Reason::AttemptsSpent));
        }
    }

    #[test]
    fn l11_after_a_cancel_only_complete_and_a_final_fail_are_the_holders_own() {
        let asked = Running { cancel_requested: true, ..JOB };
        let fail = |retry| Act::Fail { error: String::new(), retry };
        assert_eq!(settle(&Act::Complete { result: None }, asked, Time(50)).status, Status::Completed);
        assert_eq!(settle(&fail(Retry::Never), asked, Time(50)).reason, Some(Reason::Failed));
        for act in [Act::Release, Act::Snooze { delay_ms: 1 }, fail(Retry::In { delay_ms: 0 })] {
            assert_eq!(settle(&act, asked, Time(50)).reason, Some(Reason::Cancelled), "{act:?}");
        }
        assert_eq!(expire(true, false, asked).reason, Some(Reason::Cancelled));
    }
}
