//! A second opinion: what the answers alone allow to be said, by rules written apart from core.
//!
//! The ledger reads requests and answers, never the store's state, and remembers who was told what. An answer that
//! breaks an invariant (I1 exclusion, I2 tokens, I3 and I4 fencing, I5 terminal, I6 capacity, I9 dedup, I10
//! eligibility, I11 attempts, I15 lanes, I19 retention, L9 and L11 operators, L12 replay, Q2 order) is an error here
//! even where core gives the same answer.

mod claims;
mod gate;
mod keys;
mod operator;
mod seen;
mod writes;

use super::Met;
use crate::conformance::walk::{self, Report, Wrong};
use std::collections::{BTreeMap, BTreeSet};
use tenure_core::queue::{LaneOnFailure, NewJob, Settings, Status, Verb};
use tenure_core::{Time, Token};

pub(super) use keys::Body;

#[derive(Debug)]
pub(super) struct Ledger {
    pub(super) held: walk::Ledger<usize, Verb, Status>,
    units: Vec<Unit>,
    leases: BTreeMap<Token, Lease>,
    engine_max: Option<u32>,
    settings: BTreeMap<String, Settings>,
    /// Claims counted in a period, of a queue or of one of its tenants.
    spent: BTreeMap<(String, Option<String>), (i64, u32)>,
    /// The unit that a lane stopped for.
    blocked: BTreeMap<(String, String), usize>,
    keys: BTreeMap<(String, String), keys::Key>,
    /// When each owner claimed from a queue, by kinds.
    sighted: BTreeMap<Looked, BTreeSet<Time>>,
    pub(super) report: Report<Met>,
}

/// Owner, queue and kinds of a claim.
type Looked = (String, String, Option<BTreeSet<String>>);

#[derive(Debug)]
struct Unit {
    queue: String,
    kind: String,
    priority: i32,
    created_at: Time,
    due: Due,
    attempts_max: u32,
    timeout_ms: Option<u64>,
    lane: Option<String>,
    tenant: Option<String>,
    cancel_asked: bool,
    state: State,
    last: Option<Token>,
    finished_at: Option<Time>,
    /// No longer on record.
    gone: bool,
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
    /// Held, or its lease ran out and nobody has returned it yet.
    Claimed,
    Over(Status),
}

/// What was claimed under one token.
#[derive(Debug)]
struct Lease {
    units: Vec<usize>,
    started: usize,
    shared: bool,
}

impl Unit {
    fn over(&self) -> bool {
        matches!(self.state, State::Over(_))
    }

    fn status(&self) -> Status {
        match self.state {
            State::Waiting => Status::Queued,
            State::Claimed => Status::Running,
            State::Over(status) => status,
        }
    }

    fn lane(&self) -> Option<(String, String)> {
        self.lane.as_ref().map(|lane| (self.queue.clone(), lane.clone()))
    }

    fn tenant(&self) -> Option<(String, String)> {
        self.tenant.as_ref().map(|tenant| (self.queue.clone(), tenant.clone()))
    }
}

impl Ledger {
    pub(super) fn new(now: Time) -> Ledger {
        Ledger {
            held: walk::Ledger::new(now),
            units: Vec::new(),
            leases: BTreeMap::new(),
            engine_max: None,
            settings: BTreeMap::new(),
            spent: BTreeMap::new(),
            blocked: BTreeMap::new(),
            keys: BTreeMap::new(),
            sighted: BTreeMap::new(),
            report: Report::default(),
        }
    }

    pub(super) fn met(&mut self, met: Met) {
        self.report.meet(met);
    }

    /// Units of `queue` that are on record.
    pub(super) fn kept_in(&self, queue: &str) -> u64 {
        self.units.iter().filter(|unit| unit.queue == queue && !unit.gone).count() as u64
    }

    pub(super) fn shared(&self, token: Token) -> bool {
        self.leases.get(&token).is_some_and(|lease| lease.shared)
    }

    /// Units in one of three conditions: waiting, claimed, ended.
    pub(super) fn in_condition(&self, status: Status) -> impl DoubleEndedIterator<Item = usize> {
        let same = move |unit: &Unit| match status {
            Status::Completed | Status::Failed => unit.over(),
            status => unit.status() == status,
        };
        self.units.iter().enumerate().filter(move |(_, unit)| same(unit)).map(|(index, _)| index)
    }

    /// Leases that ran out (L4) and that nobody has returned yet, by deadline.
    fn lapsed(&self) -> BTreeSet<(Time, Token)> {
        let ran_out = self.held.claimed().filter(|(_, grant)| grant.until <= self.held.now);
        ran_out.map(|(_, grant)| (grant.until, grant.token)).collect()
    }

    fn enqueued(&mut self, job: &NewJob, now: Time) {
        self.units.push(Unit {
            queue: job.queue.clone(),
            kind: job.kind.clone(),
            priority: job.priority,
            created_at: now,
            due: Due::At(job.run_at.unwrap_or(now)),
            attempts_max: job.attempts_max,
            timeout_ms: job.timeout_ms,
            lane: job.ordering_key.clone(),
            tenant: job.limit_key.clone(),
            cancel_asked: false,
            state: State::Waiting,
            last: None,
            finished_at: None,
            gone: false,
        });
    }

    fn settings(&self, queue: &str) -> Settings {
        self.settings.get(queue).copied().unwrap_or_default()
    }

    /// Returns what ran out under one lease, by L6 and L11. Answers how many units wait again and how many ended.
    fn give_back(&mut self, deadline: Time, token: Token, now: Time) -> (u32, u32) {
        let (mut waiting, mut ended) = (0, 0);
        let started = self.leases[&token].started;
        for (place, index) in self.leases[&token].units.clone().into_iter().enumerate() {
            let Some(grant) = self.held.under(&index).filter(|grant| grant.token == token) else { continue };
            let (started, timed_out) = (place < started, grant.ends_at == deadline);
            self.held.free(&index);
            let unit = &mut self.units[index];
            if unit.cancel_asked {
                self.met(Met::CancelledByExpiry);
                self.end(index, Status::Failed, true, now);
                ended += 1;
            } else if started && self.held.attempts(&index) >= unit.attempts_max {
                self.met(if timed_out { Met::TimedOut } else { Met::CrashLimit });
                self.end(index, Status::Failed, false, now);
                ended += 1;
            } else {
                unit.state = State::Waiting;
                waiting += 1;
                if !started {
                    self.held.uncount(&index);
                    self.met(Met::NeighbourSpared);
                }
            }
        }
        (waiting, ended)
    }

    /// A unit has ended. A failure that nobody asked for stops its lane, if the queue says so; what is not kept is gone.
    fn end(&mut self, index: usize, status: Status, cancelled: bool, now: Time) {
        self.held.free(&index);
        let unit = &mut self.units[index];
        unit.state = State::Over(status);
        unit.finished_at = Some(now);
        unit.cancel_asked = false;
        let (queue, lane) = (unit.queue.clone(), unit.lane());
        let settings = self.settings(&queue);
        let blocks = status == Status::Failed && !cancelled && settings.lane_on_failure == LaneOnFailure::Block;
        match lane.filter(|_| blocks) {
            Some(lane) => {
                self.blocked.insert(lane, index);
                self.met(Met::LaneBlocked);
            }
            None if settings.retention_ms == 0 => {
                self.units[index].gone = true;
                self.met(Met::NotKept);
            }
            None => {}
        }
    }
}
