//! Where the jobs of one queue wait, and which of them a claim may take.
//!
//! Always true: `ready` holds exactly the jobs that are due and that no lane or tenant holds back, except that of one
//! tenant and kind only the first stands there; so a tenant at its limit, or a lane, with a million waiting jobs
//! costs a claim nothing (Q8, Q9).

use super::super::job::{Job, JobId, Status};
use super::super::request::Counts;
use super::super::settings::{LaneOnFailure, Rate, Settings};
use crate::bounds::RATE_PERIOD_MS_MAX;
use crate::time::Time;
use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

/// The order of claims (Q2).
pub(super) type Rank = (Reverse<i32>, Time, JobId);

/// Every job, by id.
pub(super) type Jobs = BTreeMap<JobId, Job>;

/// One queue.
#[derive(Debug)]
pub(super) struct Shelf {
    pub(super) created_at: Time,
    pub(super) settings: Settings,
    pub(super) counts: Counts,
    pub(super) ready: BTreeSet<Rank>,
    pub(super) scheduled: BTreeSet<(Time, JobId)>,
    pub(super) waiting: BTreeSet<JobId>,
    /// Due jobs of a tenant and kind; the first of them stands in `ready` while the tenant is below its limit.
    pools: BTreeMap<(String, String), Pool>,
    pub(super) running_of_key: BTreeMap<String, u64>,
    lanes: BTreeMap<String, Lane>,
    spent: Window,
    spent_of_key: BTreeMap<String, Window>,
}

#[derive(Debug, Default)]
struct Pool {
    due: BTreeSet<Rank>,
    shown: Option<Rank>,
}

/// The unfinished jobs of one ordering key.
#[derive(Debug, Default)]
pub(super) struct Lane {
    pub(super) unfinished: BTreeSet<JobId>,
    pub(super) running: Option<JobId>,
    pub(super) blocked_by: Option<JobId>,
}

impl Lane {
    /// The job whose turn it is.
    fn turn(&self) -> Option<JobId> {
        if self.running.is_some() || self.blocked_by.is_some() { None } else { self.unfinished.first().copied() }
    }
}

/// Claims counted in the current period.
#[derive(Clone, Copy, Debug)]
struct Window {
    period: i64,
    claims: u32,
    /// The last of them.
    at: Time,
}

impl Default for Window {
    fn default() -> Window {
        Window { period: 0, claims: 0, at: Time(0) }
    }
}

impl Window {
    /// When the period ends, if its claims are spent.
    fn spent_until(&self, rate: Option<Rate>, now: Time) -> Option<Time> {
        let rate = rate.filter(|rate| self.period == rate.period(now) && self.claims >= rate.max)?;
        Some(rate.period_end(now))
    }

    fn count(&mut self, rate: Option<Rate>, now: Time) {
        let Some(rate) = rate else { return };
        let now_in = rate.period(now);
        if self.period != now_in {
            *self = Window { period: now_in, claims: 0, at: now };
        }
        self.claims += 1;
        self.at = now;
    }
}

impl Shelf {
    pub(super) fn new(created_at: Time) -> Shelf {
        Shelf {
            created_at,
            settings: Settings::default(),
            counts: Counts::default(),
            ready: BTreeSet::new(),
            scheduled: BTreeSet::new(),
            waiting: BTreeSet::new(),
            pools: BTreeMap::new(),
            running_of_key: BTreeMap::new(),
            lanes: BTreeMap::new(),
            spent: Window::default(),
            spent_of_key: BTreeMap::new(),
        }
    }

    /// A job begins to wait, or waits again.
    pub(super) fn admit(&mut self, jobs: &Jobs, id: JobId, now: Time) {
        let job = &jobs[&id];
        self.waiting.insert(id);
        self.counts.queued += 1;
        match &job.ordering_key {
            None => self.offer(job, now),
            Some(key) => {
                let lane = self.lanes.entry(key.clone()).or_default();
                let before = lane.turn();
                if lane.running == Some(id) {
                    lane.running = None;
                }
                if lane.blocked_by == Some(id) {
                    lane.blocked_by = None;
                }
                lane.unfinished.insert(id);
                self.next_turn(jobs, key, before, now);
            }
        }
    }

    /// A waiting job leaves: it was claimed, or it ended where it waited.
    pub(super) fn withdraw(&mut self, job: &Job) {
        self.retract(job);
        self.waiting.remove(&job.id);
        self.counts.queued -= 1;
    }

    /// A withdrawn job runs now.
    pub(super) fn run(&mut self, job: &Job, now: Time) {
        self.counts.running += 1;
        if let Some(key) = &job.ordering_key {
            self.lanes.entry(key.clone()).or_default().running = Some(job.id);
        }
        self.spent.count(self.settings.rate_limit, now);
        if let Some(key) = &job.limit_key {
            *self.running_of_key.entry(key.clone()).or_default() += 1;
            if self.settings.rate_limit_per_key.is_some() {
                self.spent_of_key.entry(key.clone()).or_default().count(self.settings.rate_limit_per_key, now);
            }
            self.show(key);
        }
    }

    /// A running job runs no more; where it goes is said next.
    pub(super) fn halt(&mut self, job: &Job) {
        self.counts.running -= 1;
        if let Some(key) = &job.limit_key {
            if let Some(running) = self.running_of_key.get_mut(key) {
                *running -= 1;
                if *running == 0 {
                    self.running_of_key.remove(key);
                }
            }
            self.show(key);
        }
    }

    /// A job has ended as `status`; `blocks` if its lane stops for it.
    pub(super) fn retire(&mut self, jobs: &Jobs, job: &Job, status: Status, blocks: bool, now: Time) {
        *self.count(status) += 1;
        let Some(key) = &job.ordering_key else { return };
        let lane = self.lanes.entry(key.clone()).or_default();
        let before = lane.turn();
        lane.unfinished.remove(&job.id);
        if lane.running == Some(job.id) {
            lane.running = None;
        }
        if blocks && self.settings.lane_on_failure == LaneOnFailure::Block {
            lane.blocked_by = Some(job.id);
        }
        self.next_turn(jobs, key, before, now);
    }

    /// Scheduled jobs that are due take their place among the ready ones.
    pub(super) fn promote(&mut self, jobs: &Jobs, now: Time) {
        while let Some((_, id)) = self.scheduled.first().copied().filter(|(run_at, _)| *run_at <= now) {
            self.scheduled.pop_first();
            self.stand(&jobs[&id]);
        }
    }

    /// New settings take effect.
    pub(super) fn set(&mut self, jobs: &Jobs, settings: Settings, now: Time) {
        self.settings = settings;
        let keys: BTreeSet<String> = self.pools.keys().map(|(key, _)| key.clone()).collect();
        keys.iter().for_each(|key| self.show(key));
        if settings.lane_on_failure == LaneOnFailure::Continue {
            let blocked: Vec<String> =
                self.lanes.iter().filter(|(_, lane)| lane.blocked_by.is_some()).map(|(key, _)| key.clone()).collect();
            for key in blocked {
                let lane = self.lanes.entry(key.clone()).or_default();
                lane.blocked_by = None;
                self.next_turn(jobs, &key, None, now);
            }
        }
    }

    /// Whether the queue as a whole has no slot free.
    pub(super) fn full(&self) -> bool {
        self.settings.max_running.is_some_and(|max| self.counts.running >= u64::from(max))
    }

    /// If the queue's claims of this period are spent: until when.
    pub(super) fn spent_until(&self, now: Time) -> Option<Time> {
        self.spent.spent_until(self.settings.rate_limit, now)
    }

    /// If a tenant's claims of this period are spent: until when.
    pub(super) fn key_spent_until(&self, key: &str, now: Time) -> Option<Time> {
        self.spent_of_key.get(key)?.spent_until(self.settings.rate_limit_per_key, now)
    }

    /// Forgets what tenants spent in periods that are over, however long a period may be.
    pub(super) fn trim(&mut self, now: Time) {
        self.spent_of_key.retain(|_, window| window.at.plus_ms(RATE_PERIOD_MS_MAX) > now);
    }

    /// Whether due jobs are held back by nothing but their tenant's limit.
    pub(super) fn held_back(&self, jobs: &Jobs, kinds: Option<&Vec<String>>) -> bool {
        let asked = |pool: &Pool| {
            let first = pool.due.first().map(|(_, _, id)| &jobs[id].kind);
            first.is_some_and(|kind| kinds.is_none_or(|kinds| kinds.contains(kind)))
        };
        self.pools.iter().any(|((key, _), pool)| self.key_full(key) && asked(pool))
    }

    /// The lane of an ordering key.
    pub(super) fn lane(&self, key: &str) -> Option<&Lane> {
        self.lanes.get(key)
    }

    /// Whether a job is one that a lane stopped for: it must stay on record.
    pub(super) fn blocks(&self, job: &Job) -> bool {
        job.ordering_key
            .as_ref()
            .and_then(|key| self.lanes.get(key))
            .is_some_and(|lane| lane.blocked_by == Some(job.id))
    }

    pub(super) fn count(&mut self, status: Status) -> &mut u64 {
        match status {
            Status::Queued => &mut self.counts.queued,
            Status::Running => &mut self.counts.running,
            Status::Completed => &mut self.counts.completed,
            Status::Failed => &mut self.counts.failed,
        }
    }

    /// Lets the job whose turn it is stand, and the one whose turn it was no longer is step back.
    fn next_turn(&mut self, jobs: &Jobs, key: &str, before: Option<JobId>, now: Time) {
        let turn = self.lanes.get(key).and_then(Lane::turn);
        if let Some(before) = before.filter(|before| Some(*before) != turn)
            && let Some(job) = jobs.get(&before)
        {
            self.retract(job);
        }
        if let Some(job) = turn.and_then(|id| jobs.get(&id)) {
            self.offer(job, now);
        }
        if self.lanes.get(key).is_some_and(|lane| lane.unfinished.is_empty() && lane.blocked_by.is_none()) {
            self.lanes.remove(key);
        }
    }

    fn offer(&mut self, job: &Job, now: Time) {
        if job.run_at <= now {
            self.stand(job);
        } else {
            self.scheduled.insert((job.run_at, job.id));
        }
    }

    fn stand(&mut self, job: &Job) {
        match &job.limit_key {
            None => {
                self.ready.insert(rank(job));
            }
            Some(key) => {
                self.pools.entry((key.clone(), job.kind.clone())).or_default().due.insert(rank(job));
                self.show(key);
            }
        }
    }

    fn retract(&mut self, job: &Job) {
        self.scheduled.remove(&(job.run_at, job.id));
        match &job.limit_key {
            None => {
                self.ready.remove(&rank(job));
            }
            Some(key) => {
                if let Some(pool) = self.pools.get_mut(&(key.clone(), job.kind.clone())) {
                    pool.due.remove(&rank(job));
                }
                self.show(key);
            }
        }
    }

    /// Brings `ready` in line with a tenant's pools.
    fn show(&mut self, key: &str) {
        let full = self.key_full(key);
        let first = (key.to_owned(), String::new());
        let mut empty = Vec::new();
        for (name, pool) in self.pools.range_mut(first..).take_while(|((of, _), _)| of == key) {
            let shown = if full { None } else { pool.due.first().copied() };
            if shown != pool.shown {
                pool.shown.map(|rank| self.ready.remove(&rank));
                shown.map(|rank| self.ready.insert(rank));
                pool.shown = shown;
            }
            if pool.due.is_empty() {
                empty.push(name.clone());
            }
        }
        for name in empty {
            self.pools.remove(&name);
        }
    }

    fn key_full(&self, key: &str) -> bool {
        let running = self.running_of_key.get(key).copied().unwrap_or(0);
        self.settings.max_running_per_key.is_some_and(|max| running >= u64::from(max))
    }
}

pub(super) fn rank(job: &Job) -> Rank {
    (Reverse(job.priority), job.created_at, job.id)
}
