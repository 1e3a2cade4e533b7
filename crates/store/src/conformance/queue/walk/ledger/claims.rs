//! Judges claims and recovery: who was given what, in which order, and what came back.

use super::gate::{Bar, Gate};
use super::{Lease, Ledger, Met, State, Wrong};
use crate::conformance::walk::Grant;
use std::cmp::Reverse;
use tenure_core::Time;
use tenure_core::queue::{Claim, ClaimedJob, Claims, Grants, Idle, Recovered};

impl Ledger {
    /// `units` are the claimed jobs by index.
    pub(in super::super) fn claimed(
        &mut self,
        claim: &Claim,
        claims: &Claims,
        units: &[usize],
        now: Time,
    ) -> Result<(), Wrong> {
        let jobs = &claims.jobs;
        if jobs.len() > claim.max as usize {
            return Err(format!("Q2: {} jobs for a claim of at most {}", jobs.len(), claim.max));
        }
        self.returned_by(claim, now);
        let mut gate = self.gate();
        let (shared, mut started) = match claim.grants {
            Grants::Each => (false, jobs.len()),
            Grants::Shared { started } => (true, started as usize),
        };
        for (job, &index) in jobs.iter().zip(units) {
            let unit = &self.units[index];
            if unit.state != State::Waiting || unit.gone {
                return Err(format!("I1/I5: job #{index} was given away while {:?}", unit.state));
            }
            if let Some(bar) = self.bar(&gate, claim, index, now).filter(|bar| *bar != Bar::Unsure) {
                return Err(format!("{}: job #{index} was claimed, {bar:?}: {unit:?}", bar.rule()));
            }
            let better = self.missed(|other| self.rank(other) < self.rank(index), &gate, claim, now);
            if let Some(other) = better {
                return Err(format!("Q2: job #{other} was due and was passed over for {units:?}"));
            }
            gate.take(&self.units[index]);
            self.spend(index, now);
            self.grant(claim, job, index, units, shared, now)?;
            let lease = self.leases.get_mut(&job.token).expect("just granted");
            if started > 0 {
                started -= 1;
                lease.started += 1;
            }
        }
        if jobs.len() < claim.max as usize
            && let Some(other) = self.missed(|_| true, &gate, claim, now)
        {
            return Err(format!("Q2: job #{other} was due and was passed over for {units:?}"));
        }
        self.note_bars(&gate, claim, now);
        match (claims.idle, jobs.is_empty()) {
            (None, false) => Ok(()),
            (Some(idle), true) => {
                self.met(match idle {
                    Idle::AtCapacity => Met::AtCapacity,
                    Idle::RateLimited => Met::RateLimited,
                    Idle::Paused => Met::Paused,
                    Idle::Empty => Met::EmptyClaim,
                });
                self.check_idle(&gate, claim, idle, now)
            }
            (idle, _) => Err(format!("Q2: {} jobs, and idle {idle:?}", jobs.len())),
        }
    }

    fn rank(&self, index: usize) -> (Reverse<i32>, Time, usize) {
        let unit = &self.units[index];
        (Reverse(unit.priority), unit.created_at, index)
    }

    /// A unit that nothing stands in the way of.
    fn missed(&self, of: impl Fn(usize) -> bool, gate: &Gate, claim: &Claim, now: Time) -> Option<usize> {
        let waiting = (0..self.units.len()).filter(|index| self.units[*index].state == State::Waiting);
        waiting.filter(|index| of(*index)).find(|index| self.bar(gate, claim, *index, now).is_none())
    }

    /// What held due work back, for the list of what a walk must meet.
    fn note_bars(&mut self, gate: &Gate, claim: &Claim, now: Time) {
        for index in 0..self.units.len() {
            if self.units[index].state == State::Waiting {
                match self.bar(gate, claim, index, now) {
                    Some(Bar::TenantFull) => self.met(Met::TenantHeldBack),
                    Some(Bar::LaneHeld) => self.met(Met::LaneHeld),
                    Some(Bar::LaneBlocked) => self.met(Met::LaneStopped),
                    _ => {}
                }
            }
        }
    }

    /// One job of a claim goes to its claimer.
    fn grant(
        &mut self,
        claim: &Claim,
        job: &ClaimedJob,
        index: usize,
        units: &[usize],
        shared: bool,
        now: Time,
    ) -> Result<(), Wrong> {
        let unit = &self.units[index];
        self.held.attempt(&index, job.attempt, unit.attempts_max)?;
        let ends_at = unit.timeout_ms.filter(|_| !shared).map_or(Time::MAX, |ms| now.plus_ms(ms));
        let of_this = |i: &usize| units.contains(i) && self.units[*i].queue == job.queue;
        let under = |i: &usize| self.held.under(i).is_some_and(|grant| grant.token == job.token);
        let joins = self.leases.get(&job.token).is_some_and(|lease| {
            shared && lease.shared && lease.units.iter().all(|i| *i != index && of_this(i) && under(i))
        });
        let grant = Grant::new(&claim.owner, job.token, job.lease_expires_at, claim.lease_ms);
        self.held.grant(index, Grant { ends_at, ..grant }, joins)?;
        let lease = self.leases.entry(job.token);
        lease.or_insert_with(|| Lease { units: Vec::new(), started: 0, shared }).units.push(index);
        let unit = &mut self.units[index];
        unit.state = State::Claimed;
        unit.last = Some(job.token);
        Ok(())
    }

    /// A claim returns first what ran out in its queues, and with a limit on the engine in all of them (Q8).
    fn returned_by(&mut self, claim: &Claim, now: Time) {
        let of_claim = |ledger: &Ledger, token| {
            let first = ledger.leases[&token].units[0];
            ledger.engine_max.is_some() || claim.queues.contains(&ledger.units[first].queue)
        };
        let returned: Vec<_> = self.lapsed().into_iter().filter(|(_, token)| of_claim(self, *token)).collect();
        for (deadline, token) in returned {
            self.give_back(deadline, token, now);
        }
    }

    /// A sweep returns the oldest deadlines first.
    pub(in super::super) fn recovered(&mut self, leases_max: u32, answer: Recovered, now: Time) -> Result<(), Wrong> {
        let due: Vec<_> = self.lapsed().into_iter().take(leases_max as usize).collect();
        let mut expected = Recovered { leases: due.len() as u32, ..Recovered::default() };
        for (deadline, token) in due {
            let (requeued, failed) = self.give_back(deadline, token, now);
            expected.requeued += requeued;
            expected.failed += failed;
        }
        if answer == expected { Ok(()) } else { Err(format!("recover: {answer:?}, expected {expected:?} (L7)")) }
    }
}
