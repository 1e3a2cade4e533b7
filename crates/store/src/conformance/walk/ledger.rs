//! A second opinion: what the answers alone allow to be said, by rules written apart from core.
//!
//! The ledger reads requests and answers, never the store's state, and remembers who was told what. An answer that
//! breaks an invariant (I1 exclusion, I2 tokens, I3 and I4 fencing, I5 terminal, I10 eligibility, I11 attempts, L12
//! replay, Q2 order) is an error here even where core gives the same answer.

use super::Met;
use crate::Fenced;
use std::collections::{BTreeMap, BTreeSet};
use tenure_core::queue::{Act, Claim, ClaimedJob, Ended, Grants, NewJob, Retry, Status, Verb};
use tenure_core::{Time, Token};

/// What is wrong with an answer.
pub(super) type Wrong = String;

#[derive(Debug, Default)]
pub(super) struct Ledger {
    units: Vec<Unit>,
    grants: BTreeMap<Token, Grant>,
    /// Grants under which something is still held.
    open: BTreeSet<Token>,
    largest_token: Option<Token>,
    met: BTreeMap<Met, u64>,
}

#[derive(Debug)]
struct Unit {
    queue: String,
    kind: String,
    priority: i32,
    created_at: Time,
    due: Due,
    attempt: u32,
    attempts_max: u32,
    state: State,
    last: Option<Token>,
    receipts: Vec<(String, Token, Verb, Status)>,
}

/// When a unit may run: known exactly, or only not before.
#[derive(Clone, Copy, Debug)]
enum Due {
    At(Time),
    NotBefore(Time),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Waiting,
    Held(Token),
    Over,
}

#[derive(Debug)]
struct Grant {
    owner: String,
    lease_ms: u64,
    expires_at: Time,
    units: Vec<usize>,
    started: usize,
    shared: bool,
}

/// The claim a write presents.
#[derive(Clone, Copy, Debug)]
pub(super) struct Presented<'a> {
    /// The unit; `None` is an id not on record.
    pub(super) unit: Option<usize>,
    pub(super) owner: &'a str,
    pub(super) token: Token,
}

impl Ledger {
    pub(super) fn met(&mut self, met: Met) {
        *self.met.entry(met).or_default() += 1;
    }

    pub(super) fn all_met(self) -> BTreeMap<Met, u64> {
        self.met
    }

    /// Units ever enqueued in `queue`.
    pub(super) fn enqueued_in(&self, queue: &str) -> u64 {
        self.units.iter().filter(|unit| unit.queue == queue).count() as u64
    }

    /// The deadline of a held claim.
    pub(super) fn deadline(&self, unit: usize, token: Token) -> Option<Time> {
        (self.units[unit].state == State::Held(token)).then(|| self.grants[&token].expires_at)
    }

    /// Whether a claim ended without its holder's word.
    pub(super) fn lapsed(&self, unit: usize, token: Token) -> bool {
        self.units[unit].state != State::Held(token) && !self.units[unit].receipts.iter().any(|r| r.1 == token)
    }

    pub(super) fn shared(&self, token: Token) -> bool {
        self.grants.get(&token).is_some_and(|grant| grant.shared)
    }

    /// Time passed: what ran out is held by nobody from this instant on, whether or not anyone has swept (L4).
    pub(super) fn tick(&mut self, now: Time) {
        let lapsed: Vec<Token> = self.open.iter().copied().filter(|t| self.grants[t].expires_at <= now).collect();
        for token in lapsed {
            self.open.remove(&token);
            let grant = &self.grants[&token];
            for (place, index) in grant.units.clone().into_iter().enumerate() {
                let started = place < self.grants[&token].started;
                let unit = &mut self.units[index];
                if unit.state != State::Held(token) {
                    continue;
                }
                unit.state = State::Waiting;
                if !started {
                    unit.attempt -= 1;
                    self.met(Met::NeighbourSpared);
                } else if unit.attempt >= unit.attempts_max {
                    unit.state = State::Over;
                    self.met(Met::CrashLimit);
                }
            }
        }
    }

    pub(super) fn enqueued(&mut self, job: &NewJob, now: Time) {
        self.units.push(Unit {
            queue: job.queue.clone(),
            kind: job.kind.clone(),
            priority: job.priority,
            created_at: now,
            due: Due::At(job.run_at.unwrap_or(now)),
            attempt: 0,
            attempts_max: job.attempts_max,
            state: State::Waiting,
            last: None,
            receipts: Vec::new(),
        });
    }

    /// `jobs` is the reply, `units` the same jobs by index.
    pub(super) fn claimed(
        &mut self,
        claim: &Claim,
        jobs: &[ClaimedJob],
        units: &[usize],
        now: Time,
    ) -> Result<(), Wrong> {
        if jobs.len() > claim.max as usize {
            return Err(format!("Q2: {} jobs for a claim of at most {}", jobs.len(), claim.max));
        }
        self.check_order(claim, units, now)?;
        let (shared, mut started) = match claim.grants {
            Grants::Each => (false, jobs.len()),
            Grants::Shared { started } => (true, started as usize),
        };
        for (job, &index) in jobs.iter().zip(units) {
            let unit = &mut self.units[index];
            if unit.state != State::Waiting {
                return Err(format!("I1/I5: job #{index} was given away while {:?}", unit.state));
            }
            unit.attempt += 1;
            if job.attempt != unit.attempt || job.attempt > unit.attempts_max {
                let (expected, max) = (unit.attempt, unit.attempts_max);
                return Err(format!("I11: attempt {} of job #{index}, expected {expected} of {max}", job.attempt));
            }
            if job.lease_expires_at != now.plus_ms(claim.lease_ms) {
                return Err(format!("L1: the lease of job #{index} runs until {:?}", job.lease_expires_at));
            }
            let fresh = self.largest_token.is_none_or(|largest| job.token > largest);
            let joins = shared
                && self.grants.get(&job.token).is_some_and(|grant| grant.shared)
                && self.open.contains(&job.token)
                && self.grants[&job.token].units.iter().all(|i| units.contains(i) && self.units[*i].queue == job.queue);
            if !fresh && !joins {
                return Err(format!("I2: token {} after {:?}", job.token, self.largest_token));
            }
            self.largest_token = self.largest_token.max(Some(job.token));
            let grant = self.grants.entry(job.token).or_insert_with(|| Grant {
                owner: claim.owner.clone(),
                lease_ms: claim.lease_ms,
                expires_at: job.lease_expires_at,
                units: Vec::new(),
                started: 0,
                shared,
            });
            grant.units.push(index);
            if started > 0 {
                started -= 1;
                grant.started += 1;
            }
            self.open.insert(job.token);
            let unit = &mut self.units[index];
            unit.state = State::Held(job.token);
            unit.last = Some(job.token);
        }
        Ok(())
    }

    /// I10 and Q2: only what may run, in order, and nothing better left behind.
    fn check_order(&mut self, claim: &Claim, units: &[usize], now: Time) -> Result<(), Wrong> {
        let wanted = |unit: &Unit| {
            claim.queues.contains(&unit.queue) && claim.kinds.as_ref().is_none_or(|kinds| kinds.contains(&unit.kind))
        };
        for &index in units {
            let unit = &self.units[index];
            let (Due::At(due) | Due::NotBefore(due)) = unit.due;
            if !wanted(unit) || due > now {
                return Err(format!("I10: job #{index} was claimed, due {due:?}: {unit:?}"));
            }
        }
        let rank = |&index: &usize| {
            let unit = &self.units[index];
            (std::cmp::Reverse(unit.priority), unit.created_at, index)
        };
        if !units.is_sorted_by_key(rank) {
            return Err(format!("Q2: the reply is out of order: {units:?}"));
        }
        let last = units.last().map(rank).filter(|_| units.len() == claim.max as usize);
        let missed = self.units.iter().enumerate().find(|(index, unit)| {
            unit.state == State::Waiting
                && wanted(unit)
                && matches!(unit.due, Due::At(due) if due <= now)
                && !units.contains(index)
                && last.is_none_or(|last| rank(index) < last)
        });
        match missed {
            Some((index, _)) => Err(format!("Q2: job #{index} was due and was passed over for {units:?}")),
            None => Ok(()),
        }
    }

    /// Whether the presented claim is held, as far as the answers so far say.
    fn holds(&self, presented: Presented<'_>) -> bool {
        let held = presented.unit.is_some_and(|unit| self.units[unit].state == State::Held(presented.token));
        held && self.grants[&presented.token].owner == presented.owner
    }

    /// The answer to a heartbeat of one job.
    pub(super) fn beaten(&mut self, presented: Presented<'_>, until: Option<Time>, now: Time) -> Result<(), Wrong> {
        match (self.holds(presented), until) {
            (true, Some(until)) => self.renewed(presented.token, until, now),
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

    /// The answer to a heartbeat of a whole lease, or (without a new deadline) to a started mark.
    pub(super) fn lease_written(&mut self, owner: &str, token: Token, accepted: bool) -> Result<(), Wrong> {
        let held = self.open.contains(&token) && self.grants[&token].owner == owner;
        match (held, accepted) {
            (true, false) => Err(format!("L3: {owner} holds lease {token} and was refused")),
            (false, true) => Err(format!("I4: {owner} does not hold lease {token} and was accepted")),
            _ => Ok(()),
        }
    }

    pub(super) fn renewed(&mut self, token: Token, until: Time, now: Time) -> Result<(), Wrong> {
        let grant = self.grants.get_mut(&token).expect("a held lease is known");
        let expected = grant.expires_at.max(now.plus_ms(grant.lease_ms));
        if until != expected {
            return Err(format!("Q3: renewed until {until:?}, expected {expected:?}"));
        }
        grant.expires_at = until;
        Ok(())
    }

    pub(super) fn started(&mut self, token: Token, count: u32) {
        let grant = self.grants.get_mut(&token).expect("a held lease is known");
        grant.started = grant.started.max((count as usize).min(grant.units.len()));
        self.met(Met::StartedMark);
    }

    /// The answer to an ending.
    pub(super) fn ended(
        &mut self,
        presented: Presented<'_>,
        act: &Act,
        answer: Fenced<Ended>,
        now: Time,
    ) -> Result<(), Wrong> {
        let verb = act.verb();
        let own = |r: &&(String, Token, Verb, Status)| r.0 == presented.owner && r.1 == presented.token;
        let receipt = presented.unit.and_then(|unit| self.units[unit].receipts.iter().find(own).cloned());
        match answer {
            Ok(Ended { status, already: true }) => {
                if receipt.is_none_or(|receipt| (receipt.2, receipt.3) != (verb, status)) {
                    return Err(format!("L12: {verb} was never accepted as {status}, and is `already`: {presented:?}"));
                }
                let moved_on = presented.unit.is_some_and(|unit| self.units[unit].last != Some(presented.token));
                self.met(if moved_on { Met::AlreadyAfterMovingOn } else { Met::Already });
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
                    if receipt.2 == verb {
                        return Err(format!("L12: {verb} was accepted before and is refused now: {presented:?}"));
                    }
                    self.met(Met::OtherVerbRefused);
                }
                if let Some(unit) = presented.unit.filter(|&unit| self.lapsed_by(unit, presented)) {
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
                Ok(())
            }
        }
    }

    /// Whether the presented claim was once granted for this unit, and ran out.
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
        let expected = match act {
            Act::Complete { .. } => Status::Completed,
            Act::Fail { retry: Retry::Never, .. } => Status::Failed,
            Act::Fail { .. } if spent => Status::Failed,
            Act::Fail { .. } | Act::Snooze { .. } | Act::Release => Status::Queued,
        };
        if status != expected {
            return Err(format!("Q4: {} left job #{index} {status}, expected {expected}", act.verb()));
        }
        match act {
            Act::Snooze { delay_ms } => {
                unit.attempt -= 1;
                unit.due = Due::At(now.plus_ms(*delay_ms));
            }
            Act::Release => unit.attempt -= 1,
            Act::Fail { retry: Retry::In { delay_ms }, .. } => unit.due = Due::At(now.plus_ms(*delay_ms)),
            Act::Fail { retry: Retry::Policy { .. }, .. } => unit.due = Due::NotBefore(now),
            Act::Fail { retry: Retry::Never, .. } | Act::Complete { .. } => {}
        }
        unit.state = if status == Status::Queued { State::Waiting } else { State::Over };
        unit.receipts.push((presented.owner.to_owned(), presented.token, act.verb(), status));
        let left = |index: &usize| self.units[*index].state == State::Held(presented.token);
        if !self.grants[&presented.token].units.iter().any(left) {
            self.open.remove(&presented.token);
        }
        if spent && status == Status::Failed && !matches!(act, Act::Fail { retry: Retry::Never, .. }) {
            self.met(Met::AttemptsSpent);
        }
        Ok(())
    }
}
