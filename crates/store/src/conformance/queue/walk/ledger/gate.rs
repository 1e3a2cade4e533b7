//! What may be claimed at one instant: limits, rates, pauses and lanes, counted from the answers so far.

use super::{Due, Ledger, State, Unit, Wrong};
use std::collections::BTreeMap;
use tenure_core::Time;
use tenure_core::queue::{Claim, Idle, Rate};

/// How many run, and whose turn it is, while a claim is judged.
#[derive(Debug, Default)]
pub(super) struct Gate {
    engine: u32,
    of_queue: BTreeMap<String, u32>,
    of_tenant: BTreeMap<(String, String), u32>,
    /// The first unfinished unit of each lane; `None` while one runs or the lane is stopped.
    turns: BTreeMap<(String, String), Option<usize>>,
}

/// What stands in the way of a unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Bar {
    Unwanted,
    NotDue,
    /// Due at a time that only the store knows.
    Unsure,
    EngineFull,
    QueueFull,
    RateSpent,
    Paused,
    LaneBlocked,
    LaneHeld,
    TenantFull,
    TenantRateSpent,
}

impl Bar {
    /// The rule that a claim broke which took a unit all the same.
    pub(super) fn rule(self) -> &'static str {
        match self {
            Bar::Unwanted | Bar::NotDue | Bar::Unsure | Bar::Paused => "I10",
            Bar::EngineFull | Bar::QueueFull | Bar::TenantFull => "I6",
            Bar::RateSpent | Bar::TenantRateSpent => "Q2 rate",
            Bar::LaneBlocked | Bar::LaneHeld => "I15",
        }
    }
}

impl Gate {
    /// One more runs.
    pub(super) fn take(&mut self, unit: &Unit) {
        self.engine += 1;
        *self.of_queue.entry(unit.queue.clone()).or_default() += 1;
        if let Some(tenant) = unit.tenant() {
            *self.of_tenant.entry(tenant).or_default() += 1;
        }
        if let Some(lane) = unit.lane() {
            self.turns.insert(lane, None);
        }
    }
}

impl Ledger {
    pub(super) fn gate(&self) -> Gate {
        let mut gate = Gate::default();
        for (index, unit) in self.units.iter().enumerate().filter(|(_, unit)| !unit.over()) {
            if let Some(lane) = unit.lane() {
                let stopped = self.blocked.contains_key(&lane);
                gate.turns.entry(lane).or_insert((!stopped).then_some(index));
            }
        }
        let running = |unit: &&Unit| unit.state == State::Claimed;
        self.units.iter().filter(running).for_each(|unit| gate.take(unit));
        gate
    }

    /// What stands in the way of claiming a waiting unit now, if anything does.
    pub(super) fn bar(&self, gate: &Gate, claim: &Claim, index: usize, now: Time) -> Option<Bar> {
        let unit = &self.units[index];
        let settings = self.settings(&unit.queue);
        let wanted =
            claim.queues.contains(&unit.queue) && claim.kinds.as_ref().is_none_or(|kinds| kinds.contains(&unit.kind));
        let (Due::At(due) | Due::NotBefore(due)) = unit.due;
        let full = |max: Option<u32>, running: u32| max.is_some_and(|max| running >= max);
        let of_queue = gate.of_queue.get(&unit.queue).copied().unwrap_or(0);
        let of_tenant = unit.tenant().map_or(0, |tenant| gate.of_tenant.get(&tenant).copied().unwrap_or(0));
        let turn = unit.lane().is_none_or(|lane| gate.turns.get(&lane) == Some(&Some(index)));
        let tenant_rate = settings.rate_limit_per_key.filter(|_| unit.tenant.is_some());
        let bars = [
            (!wanted, Bar::Unwanted),
            (due > now, Bar::NotDue),
            (full(self.engine_max, gate.engine), Bar::EngineFull),
            (full(settings.max_running, of_queue), Bar::QueueFull),
            (self.spent(&unit.queue, None, settings.rate_limit, now), Bar::RateSpent),
            (settings.paused, Bar::Paused),
            (unit.lane().is_some_and(|lane| self.blocked.contains_key(&lane)), Bar::LaneBlocked),
            (!turn, Bar::LaneHeld),
            (unit.tenant.is_some() && full(settings.max_running_per_key, of_tenant), Bar::TenantFull),
            (self.spent(&unit.queue, unit.tenant.as_deref(), tenant_rate, now), Bar::TenantRateSpent),
            (matches!(unit.due, Due::NotBefore(_)), Bar::Unsure),
        ];
        bars.into_iter().find(|(barred, _)| *barred).map(|(_, bar)| bar)
    }

    fn spent(&self, queue: &str, tenant: Option<&str>, rate: Option<Rate>, now: Time) -> bool {
        let Some(rate) = rate else { return false };
        let spent = self.spent.get(&(queue.to_owned(), tenant.map(str::to_owned)));
        spent.is_some_and(|(period, claims)| *period == period_of(rate, now) && *claims >= rate.max)
    }

    /// Counts a claim against the rates that are set.
    pub(super) fn spend(&mut self, index: usize, now: Time) {
        let unit = &self.units[index];
        let settings = self.settings(&unit.queue);
        let tenant = unit.tenant.clone().map(|tenant| (Some(tenant), settings.rate_limit_per_key));
        let queue = unit.queue.clone();
        for (tenant, rate) in [(None, settings.rate_limit)].into_iter().chain(tenant) {
            let Some(rate) = rate else { continue };
            let period = period_of(rate, now);
            let spent = self.spent.entry((queue.clone(), tenant)).or_insert((period, 0));
            if spent.0 != period {
                *spent = (period, 0);
            }
            spent.1 += 1;
        }
    }

    /// Whether the reason of a claim that took nothing is one that applies, and no earlier one does.
    pub(super) fn check_idle(&self, gate: &Gate, claim: &Claim, idle: Idle, now: Time) -> Result<(), Wrong> {
        let waiting = || (0..self.units.len()).filter(|index| self.units[*index].state == State::Waiting);
        let met = |bar: Bar| waiting().any(|index| self.bar(gate, claim, index, now) == Some(bar));
        let queues = || claim.queues.iter().map(|queue| (queue, self.settings(queue)));
        let full = self.engine_max.is_some_and(|max| gate.engine >= max)
            || queues().any(|(queue, settings)| {
                let running = gate.of_queue.get(queue).copied().unwrap_or(0);
                settings.max_running.is_some_and(|max| running >= max)
            });
        let spent = queues().any(|(queue, settings)| self.spent(queue, None, settings.rate_limit, now));
        let paused = queues().any(|(_, settings)| settings.paused);
        // Of a job that is due at a time only the store knows, its tenant's limit may or may not be in the way.
        let unsure = met(Bar::Unsure) || waiting().any(|index| matches!(self.units[index].due, Due::NotBefore(_)));
        let fits = match idle {
            Idle::AtCapacity => full || met(Bar::TenantFull) || unsure,
            Idle::RateLimited => !full && (spent || met(Bar::TenantRateSpent) || unsure),
            Idle::Paused => !full && !spent && paused,
            Idle::Empty => !full && !spent && !paused && (unsure || !met(Bar::TenantFull)),
        };
        if fits { Ok(()) } else { Err(format!("Q2: nothing was claimed, and {idle} is not the reason")) }
    }
}

fn period_of(rate: Rate, now: Time) -> i64 {
    now.0.div_euclid(rate.period_ms as i64 * 1_000)
}
