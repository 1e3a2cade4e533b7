//! Judges writes under a lease: heartbeats, started marks, endings.

use super::{Due, Ledger, Met, State, Wrong};
use crate::Fenced;
use crate::conformance::walk::{Judged, Presented};
use tenure_core::queue::{Act, Ended, Status};
use tenure_core::retry::Retry;
use tenure_core::{Time, Token};

impl Ledger {
    /// The answer to a heartbeat of one job: the new deadline and the units that were named as cancelled.
    pub(in super::super) fn beaten(
        &mut self,
        of: &Presented<usize>,
        answer: Option<(Time, Vec<usize>)>,
    ) -> Result<(), Wrong> {
        let (until, cancelled) = answer.unzip();
        if until.is_none() && self.held.lapsed(of) {
            self.met(Met::ZombieHeartbeatRefused);
        }
        self.held.beaten(of, until)?;
        let asked: Vec<usize> = of.unit.into_iter().filter(|unit| self.units[*unit].cancel_asked).collect();
        match cancelled.filter(|cancelled| *cancelled != asked) {
            Some(cancelled) => Err(format!("L11: {of:?} was told to cancel {cancelled:?}, not {asked:?}")),
            None => Ok(()),
        }
    }

    /// The answer to a heartbeat of a whole lease.
    pub(in super::super) fn all_beaten(
        &mut self,
        owner: &str,
        token: Token,
        answer: Option<(Time, Vec<usize>)>,
    ) -> Result<(), Wrong> {
        self.lease_written(owner, token, answer.is_some())?;
        let Some((until, cancelled)) = answer else { return Ok(()) };
        let under = self.held.claimed().filter(|(_, grant)| grant.token == token).map(|(unit, _)| *unit);
        let asked: Vec<usize> = under.filter(|unit| self.units[*unit].cancel_asked).collect();
        if cancelled != asked {
            return Err(format!("L11: lease {token} was told to cancel {cancelled:?}, not {asked:?}"));
        }
        self.held.renewed(token, until)
    }

    /// The answer to a write that names a whole lease.
    pub(in super::super) fn lease_written(&mut self, owner: &str, token: Token, accepted: bool) -> Result<(), Wrong> {
        let mut under = self.held.claimed().filter(|(_, grant)| grant.token == token && grant.owner == owner);
        let held = under.any(|(unit, _)| self.held.holder(unit).is_some());
        match (held, accepted) {
            (true, false) => Err(format!("L3: {owner} holds lease {token} and was refused")),
            (false, true) => Err(format!("I4: {owner} does not hold lease {token} and was accepted")),
            _ => Ok(()),
        }
    }

    pub(in super::super) fn started(&mut self, token: Token, count: u32) {
        let lease = self.leases.get_mut(&token).expect("a held lease is known");
        lease.started = lease.started.max((count as usize).min(lease.units.len()));
        self.met(Met::StartedMark);
    }

    /// The answer to an ending.
    pub(in super::super) fn ended(
        &mut self,
        of: &Presented<usize>,
        act: &Act,
        answer: Fenced<Ended>,
        now: Time,
    ) -> Result<(), Wrong> {
        let (verb, lapsed) = (act.verb(), self.held.lapsed(of));
        let judged = self.held.ended(of, verb, answer.ok().map(|ended| (ended.status, ended.already)))?;
        match (judged, of.unit, answer) {
            (Judged::Accepted, Some(index), Ok(ended)) => return self.settle(index, act, ended.status, now),
            (Judged::Already, Some(index), _) => self.met(match &self.units[index] {
                unit if unit.gone => Met::AlreadyAfterRemoval,
                unit if unit.last != Some(of.token) => Met::AlreadyAfterMovingOn,
                _ => Met::Already,
            }),
            (Judged::Refused(Some(before)), ..) if before == verb => self.met(Met::ReceiptForgotten),
            (Judged::Refused(Some(_)), ..) => self.met(Met::OtherVerbRefused),
            (Judged::Refused(None), Some(index), _) if lapsed => self.note_stale(index, of, now),
            _ => {}
        }
        Ok(())
    }

    fn note_stale(&mut self, unit: usize, of: &Presented<usize>, now: Time) {
        self.met(Met::StaleFinishRefused);
        if self.held.holder(&unit).is_some_and(|holder| holder.owner == of.owner) {
            self.met(Met::SameNameRefused);
        }
        if self.held.granted(of).is_some_and(|grant| grant.until == now) {
            self.met(Met::RefusedAtTheInstant);
        }
    }

    fn settle(&mut self, index: usize, act: &Act, status: Status, now: Time) -> Result<(), Wrong> {
        let unit = &mut self.units[index];
        let spent = self.held.attempts(&index) >= unit.attempts_max;
        let own = match act {
            Act::Complete { .. } => Status::Completed,
            Act::Fail { retry: Retry::Never | Retry::Cancel, .. } => Status::Failed,
            Act::Fail { .. } if spent => Status::Failed,
            Act::Fail { .. } | Act::Snooze { .. } | Act::Release => Status::Queued,
        };
        // L11: what would put a job back ends it, once an operator asked to cancel.
        let cancelled = unit.cancel_asked && own == Status::Queued;
        let expected = if cancelled { Status::Failed } else { own };
        if status != expected {
            let rule = if cancelled { "L11" } else { "Q4" };
            return Err(format!("{rule}: {} left job #{index} {status}, expected {expected}", act.verb()));
        }
        if status == Status::Queued {
            match act {
                Act::Snooze { delay_ms } => {
                    self.held.uncount(&index);
                    unit.due = Due::At(now.plus_ms(*delay_ms));
                }
                Act::Release => self.held.uncount(&index),
                Act::Fail { retry: Retry::In { delay_ms }, .. } => unit.due = Due::At(now.plus_ms(*delay_ms)),
                Act::Fail { .. } => unit.due = Due::NotBefore(now),
                Act::Complete { .. } => {}
            }
            unit.state = State::Waiting;
        } else {
            // A lane goes on after a cancel, whoever said it.
            let unwanted = matches!(act, Act::Fail { retry: Retry::Cancel, .. });
            self.end(index, status, cancelled || unwanted, now);
        }
        if cancelled {
            self.met(Met::CancelledByHolder);
        } else if spent
            && status == Status::Failed
            && !matches!(act, Act::Fail { retry: Retry::Never | Retry::Cancel, .. })
        {
            self.met(Met::AttemptsSpent);
        }
        Ok(())
    }
}
