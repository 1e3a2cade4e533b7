//! What may happen to one job. Pure: the caller has read the facts and will write what is decided.
//!
//! Whether a write counts is [judged](crate::lease::judge) as on every face; [`settle`] and [`expire`] say what an ending
//! or an expiry does. Backends that repeat these rules in SQL for speed are compared with them by the conformance suite.

use super::event::{Event, What};
use super::job::{Attempt, Job, JobId, Outcome, Reason, Status};
use super::request::{Act, Verb};
use crate::lease::{End, Lease, Presented, crashed_out};
use crate::retry::Backoff;
use crate::retry::Retry;
use crate::time::Time;

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

/// What a queue remembers of an ended claim.
pub type Receipt = crate::lease::Receipt<Verb, Status>;

impl Attempt {
    /// What is remembered of it, once it has ended.
    #[must_use]
    pub fn receipt(&self) -> Receipt {
        let end = match (self.verb, self.outcome) {
            (Some(verb), Some(outcome)) => End::By(verb, outcome.status()),
            (None, Some(Outcome::Cancelled)) => End::Cancelled,
            (_, _) => End::Expired,
        };
        Receipt { owner: self.owner.clone(), end, at: self.ended_at.unwrap_or(self.claimed_at) }
    }
}

impl Job {
    /// What it remembers of the claim that a writer presents.
    #[must_use]
    pub fn receipt(&self, of: Presented<'_, Verb>) -> Option<Receipt> {
        let claim = |attempt: &&Attempt| attempt.token == of.token && attempt.owner == of.owner;
        self.attempts.iter().rev().find(claim).map(Attempt::receipt)
    }
}

/// Cuts a lease short at `ends_at`, the timeout of its one job.
#[must_use]
pub fn capped(mut lease: Lease, ends_at: Option<Time>) -> Lease {
    lease.expires_at = ends_at.map_or(lease.expires_at, |ends_at| ends_at.min(lease.expires_at));
    lease
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

impl Settled {
    /// What it leaves in the events: nothing if it went well (L8). `before` are the attempts that counted when it ended:
    /// one that was given back is not named.
    #[must_use]
    pub fn events(&self, id: JobId, lease: &Lease, before: u32, error: Option<&str>, now: Time) -> Vec<Event> {
        let attempt = Some(self.attempt).filter(|attempt| *attempt == before);
        let event = |what| {
            let event = Event::new(now, id, what).by(&lease.owner, lease.token).error(error);
            Event { attempt, reason: self.reason, ..event }
        };
        let first = match self.outcome {
            Outcome::Expired => Some(Event { reason: None, ..event(What::Expired) }),
            Outcome::Retried => Some(Event { until: Some(self.run_at), ..event(What::Retried) }),
            Outcome::Failed | Outcome::Cancelled | Outcome::Completed | Outcome::Snoozed | Outcome::Released => None,
        };
        let last = self.reason.map(|reason| match reason {
            // What its own holder ended has failed, even if it calls that a cancel.
            Reason::Cancelled if self.outcome != Outcome::Failed => event(What::Cancelled),
            Reason::Cancelled | Reason::Failed | Reason::AttemptsSpent | Reason::CrashLimit | Reason::Timeout => {
                event(What::Failed)
            }
        });
        first.into_iter().chain(last).collect()
    }
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
    let spent = started && crashed_out(job.attempt, job.attempts_max);
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

    const JOB: Running =
        Running { attempt: 2, attempts_max: 3, backoff: None, run_at: Time(7), cancel_requested: false };

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
