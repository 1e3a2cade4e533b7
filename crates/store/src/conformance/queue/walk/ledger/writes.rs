//! Judges writes under a lease: heartbeats, started marks, endings.

use super::{Due, Grant, Ledger, Met, Receipt, State, Wrong};
use crate::Fenced;
use tenure_core::bounds::RECEIPT_MS;
use tenure_core::queue::{Act, Ended, Status};
use tenure_core::retry::Retry;
use tenure_core::{Time, Token};

/// The claim a write presents.
#[derive(Clone, Copy, Debug)]
pub(in super::super) struct Presented<'a> {
    /// The unit; `None` is an id not on record.
    pub(in super::super) unit: Option<usize>,
    pub(in super::super) owner: &'a str,
    pub(in super::super) token: Token,
}

impl Ledger {
    /// Whether the presented claim is held, as far as the answers so far say.
    fn holds(&self, presented: Presented<'_>) -> bool {
        let held = presented.unit.is_some_and(|unit| self.units[unit].state == State::Held(presented.token));
        held && self.grants[&presented.token].owner == presented.owner
    }

    /// The answer to a heartbeat of one job: the new deadline and the units that were named as cancelled.
    pub(in super::super) fn beaten(
        &mut self,
        presented: Presented<'_>,
        answer: Option<(Time, Vec<usize>)>,
        now: Time,
    ) -> Result<(), Wrong> {
        match (self.holds(presented), answer) {
            (true, Some((until, cancelled))) => {
                let asked = |unit: &usize| self.units[*unit].cancel_asked;
                let expected: Vec<usize> = presented.unit.into_iter().filter(asked).collect();
                if cancelled != expected {
                    return Err(format!("L11: {presented:?} was told to cancel {cancelled:?}, not {expected:?}"));
                }
                self.renewed(presented.token, until, now)
            }
            (false, None) => {
                let own = presented.unit.is_some_and(|unit| self.lapsed_by(unit, presented));
                if own {
                    self.met(Met::ZombieHeartbeatRefused);
                }
                Ok(())
            }
            (true, None) => Err(format!("Q3: a heartbeat of the holder was refused: {presented:?}")),
            (false, Some(_)) => Err(format!("I4: a heartbeat without the lease was accepted: {presented:?}")),
        }
    }

    /// The answer to a heartbeat of a whole lease.
    pub(in super::super) fn all_beaten(
        &mut self,
        owner: &str,
        token: Token,
        answer: Option<(Time, Vec<usize>)>,
        now: Time,
    ) -> Result<(), Wrong> {
        self.lease_written(owner, token, answer.is_some())?;
        let Some((until, cancelled)) = answer else { return Ok(()) };
        let asked = |unit: &usize| self.units[*unit].cancel_asked && self.units[*unit].state == State::Held(token);
        let mut expected: Vec<usize> = self.grants[&token].units.iter().copied().filter(asked).collect();
        expected.sort_unstable();
        if cancelled != expected {
            return Err(format!("L11: lease {token} was told to cancel {cancelled:?}, not {expected:?}"));
        }
        self.renewed(token, until, now)
    }

    /// The answer to a write that names a whole lease.
    pub(in super::super) fn lease_written(&mut self, owner: &str, token: Token, accepted: bool) -> Result<(), Wrong> {
        let held = self.open.contains(&token) && self.grants[&token].owner == owner;
        match (held, accepted) {
            (true, false) => Err(format!("L3: {owner} holds lease {token} and was refused")),
            (false, true) => Err(format!("I4: {owner} does not hold lease {token} and was accepted")),
            _ => Ok(()),
        }
    }

    fn renewed(&mut self, token: Token, until: Time, now: Time) -> Result<(), Wrong> {
        let grant = self.grants.get_mut(&token).expect("a held lease is known");
        let renewed = grant.expires_at.max(now.plus_ms(grant.lease_ms));
        let expected = renewed.min(grant.ends_at.unwrap_or(Time::MAX));
        if until != expected {
            return Err(format!("Q3: renewed until {until:?}, expected {expected:?}"));
        }
        grant.expires_at = until;
        Ok(())
    }

    pub(in super::super) fn started(&mut self, token: Token, count: u32) {
        let grant = self.grants.get_mut(&token).expect("a held lease is known");
        grant.started = grant.started.max((count as usize).min(grant.units.len()));
        self.met(Met::StartedMark);
    }

    /// The answer to an ending.
    pub(in super::super) fn ended(
        &mut self,
        presented: Presented<'_>,
        act: &Act,
        answer: Fenced<Ended>,
        now: Time,
    ) -> Result<(), Wrong> {
        let verb = act.verb();
        let own = |receipt: &&Receipt| receipt.owner == presented.owner && receipt.token == presented.token;
        let receipt = presented.unit.and_then(|unit| self.units[unit].receipts.iter().find(own).cloned());
        let gone = presented.unit.is_some_and(|unit| self.units[unit].gone);
        match answer {
            Ok(Ended { status, already: true }) => {
                if receipt.is_none_or(|receipt| (receipt.verb, receipt.status) != (verb, status)) {
                    return Err(format!("L12: {verb} was never accepted as {status}, and is `already`: {presented:?}"));
                }
                let moved_on = presented.unit.is_some_and(|unit| self.units[unit].last != Some(presented.token));
                self.met(match (gone, moved_on) {
                    (true, _) => Met::AlreadyAfterRemoval,
                    (_, true) => Met::AlreadyAfterMovingOn,
                    _ => Met::Already,
                });
                Ok(())
            }
            Ok(Ended { status, already: false }) => {
                let Some(index) = presented.unit.filter(|_| self.holds(presented)) else {
                    return Err(format!("I3: {verb} without the lease was accepted: {presented:?}"));
                };
                self.settle(index, presented, act, status, now)
            }
            Err(_) if self.holds(presented) => Err(format!("L3: {verb} of the holder was refused: {presented:?}")),
            Err(_) => {
                if let Some(receipt) = receipt {
                    let young = receipt.at.plus_ms(RECEIPT_MS) > now;
                    if receipt.verb == verb && young {
                        return Err(format!("L12: {verb} was accepted before and is refused now: {presented:?}"));
                    }
                    self.met(if receipt.verb == verb { Met::ReceiptForgotten } else { Met::OtherVerbRefused });
                }
                if let Some(unit) = presented.unit.filter(|&unit| self.lapsed_by(unit, presented)) {
                    self.note_stale(unit, presented, now);
                }
                Ok(())
            }
        }
    }

    fn note_stale(&mut self, unit: usize, presented: Presented<'_>, now: Time) {
        self.met(Met::StaleFinishRefused);
        if let State::Held(token) = self.units[unit].state
            && self.grants[&token].owner == presented.owner
        {
            self.met(Met::SameNameRefused);
        }
        if self.grants[&presented.token].expires_at == now {
            self.met(Met::RefusedAtTheInstant);
        }
    }

    /// Whether the presented claim was once granted for this unit, and ended without its holder's word.
    fn lapsed_by(&self, unit: usize, presented: Presented<'_>) -> bool {
        let granted = |grant: &Grant| grant.owner == presented.owner && grant.units.contains(&unit);
        self.grants.get(&presented.token).is_some_and(granted) && self.lapsed(unit, presented.token)
    }

    fn settle(
        &mut self,
        index: usize,
        presented: Presented<'_>,
        act: &Act,
        status: Status,
        now: Time,
    ) -> Result<(), Wrong> {
        let unit = &mut self.units[index];
        let spent = unit.attempt >= unit.attempts_max;
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
        let (owner, token) = (presented.owner.to_owned(), presented.token);
        unit.receipts.push(Receipt { owner, token, verb: act.verb(), status, at: now });
        if status == Status::Queued {
            match act {
                Act::Snooze { delay_ms } => {
                    unit.attempt -= 1;
                    unit.due = Due::At(now.plus_ms(*delay_ms));
                }
                Act::Release => unit.attempt -= 1,
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
        self.close(token);
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
