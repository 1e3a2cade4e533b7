//! What may happen to one unit. Pure: the caller has read the facts and writes what is decided here.

use super::event::{Event, What};
use super::request::{Act, Beat, Claim, Refusal};
use super::unit::{Attempt, ClaimedUnit, Outcome, Reason, Record, Run, Status, Unit, Verb};
use crate::lease::{End, Lease, Receipt, Token, crashed_out};
use crate::retry::Retry;
use crate::time::Time;

impl Attempt {
    /// What is remembered of it (L12).
    #[must_use]
    pub fn receipt(&self) -> Receipt<Verb, Status> {
        let end = match self.verb {
            Some(verb) => End::By(verb, self.status),
            None if self.outcome == Outcome::Cancelled => End::Cancelled,
            None => End::Expired,
        };
        Receipt { owner: self.owner.clone(), end, at: self.ended_at }
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
    let spent = crashed_out(unit.attempt, unit.attempts_max);
    Settled {
        outcome: Outcome::Expired,
        status: if spent { Status::Error } else { Status::Ready },
        reason: spent.then_some(Reason::CrashLimit),
        retry_at: None,
        attempt: unit.attempt,
    }
}

impl Settled {
    /// Whether it ended for good by its own fault, and not with its run: a segment then fails its stage (P6).
    #[must_use]
    pub fn fails_stage(&self) -> bool {
        self.reason.is_some() && self.outcome != Outcome::Cancelled
    }

    /// What a cancel of its run makes of a running unit.
    #[must_use]
    pub fn cancelled(unit: &Unit) -> Settled {
        Settled {
            outcome: Outcome::Cancelled,
            status: Status::Error,
            reason: Some(Reason::Cancelled),
            retry_at: None,
            attempt: unit.attempt,
        }
    }
}

impl Act {
    /// Refuses a split of what cannot be split (P6).
    pub fn may_end(&self, unit: &Unit) -> Result<(), Refusal> {
        match self {
            Act::Split { .. } if unit.split => Err(Refusal::AlreadySplit),
            Act::Split { .. } if !unit.segmented || unit.segment.is_some() => Err(Refusal::NotSegmented),
            Act::Split { .. } | Act::Complete { .. } | Act::Fail { .. } | Act::Release => Ok(()),
        }
    }

    /// What went wrong, if it did.
    #[must_use]
    pub fn error(&self) -> Option<String> {
        match self {
            Act::Fail { error, .. } => Some(error.clone()),
            Act::Complete { .. } | Act::Release | Act::Split { .. } => None,
        }
    }
}

impl Unit {
    /// Puts it into the hands of its claimer.
    pub fn take(&mut self, claim: &Claim, run: &Run, input: String, token: Token, now: Time) -> ClaimedUnit {
        let lease = Lease::grant(&claim.owner, token, claim.lease_ms.unwrap_or(self.lease_ms), now);
        self.status = Status::Running;
        self.changed_at = now;
        self.attempt += 1;
        self.token = Some(token);
        let claimed = ClaimedUnit {
            run: self.run,
            pipeline: self.pipeline.clone(),
            version: run.version,
            stage: self.stage.clone(),
            segment: self.segment.clone(),
            join: self.split,
            segmented: self.segmented,
            input,
            attempt: self.attempt,
            attempts_max: self.attempts_max,
            token,
            lease_expires_at: lease.expires_at,
            lease_ms: lease.lease_ms,
            record: self.record.clone(),
        };
        self.lease = Some(lease);
        claimed
    }

    /// Renews its lease, and keeps what the heartbeat says; the new deadline. `None` if it has no lease.
    pub fn renew(&mut self, beat: &Beat, now: Time) -> Option<Time> {
        let expires_at = self.lease.as_mut()?.renew(now);
        self.progress = beat.progress.clone().or(self.progress.take());
        self.record = beat.record.clone().map(|record| Record { token: beat.token, ..record }).or(self.record.take());
        Some(expires_at)
    }

    /// Takes it out of its lease: what is told, and its ended attempt. `None` if it has no lease.
    pub fn end(
        &mut self,
        settled: Settled,
        verb: Option<Verb>,
        error: Option<String>,
        now: Time,
    ) -> Option<(Vec<Event>, Attempt)> {
        let lease = self.lease.take()?;
        let Settled { outcome, status, reason, retry_at, attempt } = settled;
        let event = |what| {
            let event = Event::of_unit(now, self.run, &self.stage, self.segment.as_deref(), what);
            let event = event.by(&lease.owner, lease.token).error(error.as_deref());
            Event { attempt: Some(self.attempt), reason, until: retry_at, ..event }
        };
        let mut events = Vec::new();
        match outcome {
            Outcome::Expired => events.push(event(What::Expired)),
            Outcome::Retried => events.push(event(What::Retried)),
            Outcome::Cancelled => events.push(event(What::Cancelled)),
            Outcome::Completed | Outcome::Failed | Outcome::Released | Outcome::Split => {}
        }
        if settled.fails_stage() {
            events.push(event(What::Failed));
        }
        let ended = Attempt {
            run: self.run,
            stage: self.stage.clone(),
            segment: self.segment.clone(),
            token: lease.token,
            owner: lease.owner,
            claimed_at: lease.granted_at,
            ended_at: now,
            outcome,
            verb,
            status,
            error: error.clone(),
            pulse: lease.pulse,
        };
        self.status = status;
        self.reason = reason;
        self.retry_at = retry_at;
        self.attempt = attempt;
        self.error = error.or(self.error.take());
        self.changed_at = now;
        Some((events, ended))
    }

    /// What an accepted completion or split leaves on a unit that has [ended](Unit::end); whether it does.
    pub fn complete(&mut self, act: &Act, token: Token) -> bool {
        match act {
            Act::Complete { output, record } => {
                self.output.clone_from(output);
                self.record = completed_record(record.clone(), self.record.take(), token);
                true
            }
            Act::Split { .. } => {
                self.split = true;
                true
            }
            Act::Fail { .. } | Act::Release => false,
        }
    }

    /// Fails a stage whose `segment` failed for good (P6); what is told of it. `None`: it is beyond failing.
    pub fn fail_with(&mut self, segment: &Unit, now: Time) -> Option<Event> {
        let (name, reason) = segment.segment.as_deref().zip(segment.reason)?;
        if self.status != Status::New {
            return None;
        }
        let error = format!("segment {name} failed for good ({reason})");
        self.status = Status::Error;
        self.reason = Some(Reason::SegmentFailed);
        self.changed_at = now;
        let told = Event::of_unit(now, self.run, &self.stage, None, What::Failed).error(Some(&error));
        self.error = Some(error);
        Some(Event { reason: self.reason, ..told })
    }
}

/// The record that an accepted completion leaves: what it brought, or what was recorded under this very claim (P7).
fn completed_record(brought: Option<Record>, before: Option<Record>, token: Token) -> Option<Record> {
    brought.map(|record| Record { token, ..record }).or_else(|| before.filter(|record| record.token == token))
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
