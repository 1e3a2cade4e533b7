//! A worker's shift: what to claim, what to begin, when to rest and when to go home. Pure: events and time come in,
//! orders go out, so that a simulator can run the real thing.
//!
//! Always true:
//! - no more handlers run than there are slots, and no more units are in hand than slots and prefetch allow;
//! - at most one claim is under way;
//! - a unit that was only prefetched begins after its started mark has been committed (L6);
//! - a shift that is over has nothing in hand.

use super::CONCURRENCY_MAX;
use super::face::{Ask, Claimed, Id, Offer};
use crate::clock::Moment;
use crate::rest::Rest;
use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;
use tenure_core::{Invalid, bounds};

/// After a store failure, doubling …
const FAILED_WAIT: Duration = Duration::from_millis(100);
/// … up to this.
const FAILED_WAIT_MAX: Duration = Duration::from_secs(10);
/// How long a draining worker gives its own endings to arrive.
const SETTLE: Duration = Duration::from_millis(5);
/// The most that one claim may take (X).
const CLAIM_MAX: usize = 1_000;

/// One queue of a worker, or one stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Share {
    pub(crate) name: String,
    /// How often it is asked first, against the other queues.
    pub(crate) weight: u32,
    /// The most of its jobs in hand at once.
    pub(crate) concurrency: Option<usize>,
}

/// How a worker works.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Plan {
    pub(crate) queues: Vec<Share>,
    pub(crate) concurrency: usize,
    pub(crate) prefetch: usize,
    pub(crate) grace: Duration,
    /// Go home when there is nothing left to do.
    pub(crate) drain: bool,
}

impl Plan {
    /// Serves this one too, or otherwise than before.
    pub(crate) fn share(&mut self, share: Share) {
        self.queues.retain(|known| known.name != share.name);
        self.queues.push(share);
    }

    pub(crate) fn check(&self) -> Result<(), Invalid> {
        for queue in &self.queues {
            bounds::within("weight", queue.weight.into(), 1, 1_000)?;
            bounds::within("concurrency", queue.concurrency.unwrap_or(1) as u64, 1, CONCURRENCY_MAX)?;
        }
        bounds::within("concurrency", self.concurrency as u64, 1, CONCURRENCY_MAX)
    }
}

/// What happened.
#[derive(Debug)]
pub(crate) enum Event<U: Claimed> {
    /// Time has passed, or work may have come.
    Look,
    /// A claim was answered; `unsettled` says that endings were on their way when it was asked.
    Claimed { offer: Offer<U>, unsettled: bool },
    /// A claim was not answered.
    Unanswered,
    /// A claim was refused, and would be again: go home as soon as the handlers have ended.
    Failed,
    /// A started mark was committed, or not.
    Marked { key: U::Key, held: bool },
    /// A handler has ended and its slot is free.
    Vacated(Id<U>),
    /// Go home when the handlers have ended.
    Leave,
    /// Go home now.
    LeaveNow,
}

/// What to do.
#[derive(Debug, PartialEq)]
pub(crate) enum Order<U: Claimed> {
    /// Claim.
    Claim(Ask),
    /// Commit that the first `count` units of this grant are started.
    Mark { key: U::Key, count: u32 },
    /// Run its handler.
    Begin(Box<U>),
    /// Give back what was not begun.
    GiveBack(Vec<Id<U>>),
    /// Tell all handlers to stop.
    TellAll,
    /// Drop all handlers.
    DropAll,
    /// Everything has ended.
    Over,
}

#[derive(Debug, PartialEq, Eq)]
enum Phase {
    Open,
    /// Handlers may end by themselves until then.
    Leaving(Moment),
    /// They were told to stop.
    Told,
    /// They were dropped.
    Dropped,
    Over,
}

#[derive(Debug, Default)]
struct Asked {
    max: usize,
    begin: usize,
}

#[derive(Debug)]
struct Waiting<U> {
    unit: U,
    /// Its place in its grant, from 0.
    place: u32,
}

/// The shift.
#[derive(Debug)]
pub(crate) struct Shift<U: Claimed> {
    plan: Plan,
    phase: Phase,
    /// Smooth weighted round robin: what each queue is owed.
    owed: Vec<i64>,
    /// Queues still to ask in this round.
    round: VecDeque<usize>,
    /// Whether this round has found anything.
    found: bool,
    /// Whether it passed over a queue that was at its own limit.
    passed_over: bool,
    /// The claim that is under way.
    asked: Option<Asked>,
    /// Units in hand whose handler has not begun.
    waiting: VecDeque<Waiting<U>>,
    /// Units whose mark is being committed.
    marking: Vec<Waiting<U>>,
    running: BTreeMap<Id<U>, String>,
    rest: Rest,
    rest_until: Option<Moment>,
    failures: u32,
    limited: bool,
}

impl<U: Claimed> Shift<U> {
    pub(crate) fn new(plan: Plan) -> Shift<U> {
        Shift {
            owed: vec![0; plan.queues.len()],
            plan,
            phase: Phase::Open,
            round: VecDeque::new(),
            found: false,
            passed_over: false,
            asked: None,
            waiting: VecDeque::new(),
            marking: Vec::new(),
            running: BTreeMap::new(),
            rest: Rest::default(),
            rest_until: None,
            failures: 0,
            limited: true,
        }
    }

    /// Takes an event in, and says what to do.
    pub(crate) fn step(&mut self, event: Event<U>, now: Moment) -> Vec<Order<U>> {
        let mut orders = Vec::new();
        match event {
            // A rest that is not over yet was broken by a wake-up.
            Event::Look => self.rest_until = self.rest_until.filter(|until| now >= *until),
            Event::Claimed { offer: Offer { units, again_in, limited, held }, unsettled } => {
                self.limited = limited;
                let nothing_left = units.is_empty() && !unsettled && !held && !self.passed_over;
                self.claimed(units, again_in, now, &mut orders);
                if self.rest_until.is_some() && (unsettled || self.passed_over) && self.plan.drain {
                    self.rest_until = Some(now.after(SETTLE));
                }
                // What an ending puts back, or a slot it frees, is still to come.
                if self.plan.drain && nothing_left && self.round.is_empty() && self.idle() {
                    self.phase = Phase::Dropped;
                }
            }
            Event::Unanswered => {
                self.asked = None;
                self.round.clear();
                self.failures = self.failures.saturating_add(1).min(16);
                let wait = (FAILED_WAIT * (1 << (self.failures - 1).min(8))).min(FAILED_WAIT_MAX);
                self.rest_until = Some(now.after(wait));
            }
            Event::Marked { key, held } => self.marked(&key, held, &mut orders),
            Event::Vacated(unit) => {
                self.running.remove(&unit);
                if self.plan.drain {
                    self.rest_until = None;
                }
            }
            Event::Failed | Event::Leave => {
                if matches!(event, Event::Failed) {
                    self.asked = None;
                }
                if self.phase == Phase::Open {
                    self.phase = Phase::Leaving(now.after(self.plan.grace));
                    self.give_back(&mut orders);
                }
            }
            Event::LeaveNow => {
                if !matches!(self.phase, Phase::Dropped | Phase::Over) {
                    self.phase = Phase::Dropped;
                    self.give_back(&mut orders);
                    orders.push(Order::DropAll);
                }
            }
        }
        self.go_on(now, &mut orders);
        orders
    }

    /// When to step with [`Event::Look`] if nothing else happens.
    pub(crate) fn next(&self) -> Option<Moment> {
        match self.phase {
            Phase::Open => self.rest_until,
            Phase::Leaving(until) => Some(until),
            Phase::Told | Phase::Dropped | Phase::Over => None,
        }
    }

    fn claimed(&mut self, units: Vec<U>, again_in: Option<Duration>, now: Moment, orders: &mut Vec<Order<U>>) {
        let Asked { max, begin } = self.asked.take().unwrap_or_default();
        self.failures = 0;
        if !units.is_empty() {
            self.found = true;
            self.rest.found();
        }
        if units.len() >= max {
            // The leader filled everything: the next claim begins a new round.
            self.round.clear();
        }
        let mut places: BTreeMap<U::Key, u32> = BTreeMap::new();
        for (i, unit) in units.into_iter().enumerate() {
            let place = places.entry(unit.key()).or_default();
            let waiting = Waiting { place: *place, unit };
            *place += 1;
            if i < begin && self.phase == Phase::Open {
                self.begin(waiting, orders)
            } else {
                self.waiting.push_back(waiting)
            }
        }
        if self.phase != Phase::Open {
            self.give_back(orders);
        }
        if self.round.is_empty() && !std::mem::take(&mut self.found) {
            self.rest_until = Some(now.after(self.rest.begin(again_in)));
        }
    }

    fn marked(&mut self, key: &U::Key, held: bool, orders: &mut Vec<Order<U>>) {
        let (of, rest) = std::mem::take(&mut self.marking).into_iter().partition(|w| w.unit.key() == *key);
        self.marking = rest;
        let of: Vec<Waiting<U>> = of;
        if !held {
            // The lease is lost, and with it whatever else of the grant was waiting.
            self.waiting.retain(|waiting| waiting.unit.key() != *key);
            return;
        }
        for waiting in of {
            if self.phase == Phase::Open { self.begin(waiting, orders) } else { self.waiting.push_back(waiting) }
        }
        if self.phase != Phase::Open {
            self.give_back(orders);
        }
    }

    fn begin(&mut self, waiting: Waiting<U>, orders: &mut Vec<Order<U>>) {
        let Waiting { unit, .. } = waiting;
        self.running.insert((unit.part(), unit.key()), unit.queue().to_owned());
        orders.push(Order::Begin(Box::new(unit)));
    }

    fn give_back(&mut self, orders: &mut Vec<Order<U>>) {
        if !self.waiting.is_empty() {
            let back = self.waiting.drain(..).map(|waiting| (waiting.unit.part(), waiting.unit.key())).collect();
            orders.push(Order::GiveBack(back));
        }
    }

    fn go_on(&mut self, now: Moment, orders: &mut Vec<Order<U>>) {
        match self.phase {
            Phase::Open => {
                self.mark(orders);
                self.claim(now, orders);
            }
            Phase::Leaving(until) if now >= until && !self.idle() => {
                self.phase = Phase::Told;
                orders.push(Order::TellAll);
            }
            Phase::Leaving(_) | Phase::Told | Phase::Dropped | Phase::Over => {}
        }
        if self.phase != Phase::Open && self.phase != Phase::Over && self.idle() {
            self.phase = Phase::Over;
            orders.push(Order::Over);
        }
    }

    /// Slots that are free now.
    fn free(&self) -> usize {
        self.plan.concurrency.saturating_sub(self.running.len() + self.marking.len())
    }

    /// Nothing is in hand, and nothing is on its way.
    fn idle(&self) -> bool {
        self.asked.is_none() && self.running.is_empty() && self.waiting.is_empty() && self.marking.is_empty()
    }

    /// Begins what waits, in the order of its grants, one mark for all of a grant that fit.
    fn mark(&mut self, orders: &mut Vec<Order<U>>) {
        let mut counts: BTreeMap<U::Key, u32> = BTreeMap::new();
        while self.free() > 0
            && let Some(waiting) = self.waiting.pop_front()
        {
            let count = counts.entry(waiting.unit.key()).or_default();
            *count = (*count).max(waiting.place + 1);
            self.marking.push(waiting);
        }
        orders.extend(counts.into_iter().map(|(key, count)| Order::Mark { key, count }));
    }

    fn claim(&mut self, now: Moment, orders: &mut Vec<Order<U>>) {
        let resting = self.rest_until.is_some_and(|until| now < until);
        if resting || self.asked.is_some() {
            return;
        }
        let free = self.free();
        let prefetch = if self.limited { 0 } else { self.plan.prefetch };
        let ahead = prefetch.saturating_sub(self.waiting.len());
        // While slots are taken, prefetched work is fetched by the half, not one by one.
        if free == 0 && (ahead == 0 || self.waiting.len() > prefetch / 2) {
            return;
        }
        let Some((queues, room)) = self.choose(free + ahead) else { return };
        let max = room.min(CLAIM_MAX);
        if self.rest_until.take().is_some() {
            self.rest.over();
        }
        orders.push(Order::Claim(Ask {
            queues: queues.iter().map(|i| self.plan.queues[*i].name.clone()).collect(),
            max: max as u32,
            begin: free.min(max) as u32,
        }));
        self.asked = Some(Asked { max, begin: free.min(max) });
    }

    /// Which queues to ask next, and for how many. Queues that are all alike are asked together, in the store's own
    /// order; else one by one, each round led by the one that is owed most.
    fn choose(&mut self, most: usize) -> Option<(Vec<usize>, usize)> {
        let alike = self
            .plan
            .queues
            .iter()
            .all(|queue| queue.weight == self.plan.queues[0].weight && queue.concurrency.is_none());
        if alike {
            return Some(((0..self.plan.queues.len()).collect(), most));
        }
        if self.round.is_empty() {
            (self.found, self.passed_over) = (false, false);
            self.begin_round();
        }
        while let Some(queue) = self.round.pop_front() {
            let room = self.plan.queues[queue]
                .concurrency
                .map_or(most, |max| max.saturating_sub(self.in_hand(queue)).min(most));
            if room > 0 {
                return Some((vec![queue], room));
            }
            self.passed_over = true;
        }
        // Every queue that has work left is at its own limit: a vacated slot begins the next round.
        None
    }

    fn begin_round(&mut self) {
        let total: i64 = self.plan.queues.iter().map(|queue| i64::from(queue.weight)).sum();
        for (owed, queue) in self.owed.iter_mut().zip(&self.plan.queues) {
            *owed += i64::from(queue.weight);
        }
        let mut order: Vec<usize> = (0..self.owed.len()).collect();
        order.sort_by_key(|i| std::cmp::Reverse(self.owed[*i]));
        self.owed[order[0]] -= total;
        self.round = order.into();
    }

    fn in_hand(&self, queue: usize) -> usize {
        let name = &self.plan.queues[queue].name;
        let waiting = self.waiting.iter().chain(&self.marking).filter(|waiting| waiting.unit.queue() == name).count();
        waiting + self.running.values().filter(|of| *of == name).count()
    }
}

#[cfg(test)]
#[path = "shift_tests.rs"]
mod tests;
