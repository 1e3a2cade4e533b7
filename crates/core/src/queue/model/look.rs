//! Looking: jobs, queues, events, and why a job is not running.

use super::super::event::Event;
use super::super::explain::{Situation, explain};
use super::super::job::{Job, JobId, Status};
use super::super::request::{Filter, QueueInfo};
use super::super::worker::HOLDERS_SHOWN;
use super::{Queues, sooner};
use crate::bounds::PAGE_BYTES_MAX;
use crate::explain::Explanation;
use crate::page::Page;
use crate::time::Time;
use std::collections::BTreeSet;

impl Queues {
    /// One job, with its lease if it runs.
    #[must_use]
    pub fn job(&self, id: JobId) -> Option<Job> {
        self.jobs.get(&id).map(|job| self.shown(job))
    }

    /// The events stored for a job, in the order in which each was first written.
    #[must_use]
    pub fn events(&self, id: JobId) -> Vec<Event> {
        self.events.get(&id).cloned().unwrap_or_default()
    }

    /// Jobs that match, newest first, from below `before`.
    #[must_use]
    pub fn jobs(&self, filter: &Filter, before: Option<JobId>, limit: usize) -> Page<Job> {
        let matches = |job: &&Job| {
            filter.queue.as_ref().is_none_or(|queue| job.queue == *queue)
                && filter.status.is_none_or(|status| job.status == status)
                && filter.kind.as_ref().is_none_or(|kind| job.kind == *kind)
        };
        let found = self.jobs.range(..before.unwrap_or(JobId(i64::MAX))).rev().map(|(_, job)| job).filter(matches);
        let mut items: Vec<Job> = Vec::new();
        let mut bytes = 0;
        let mut more = false;
        for job in found {
            let job = self.shown(job);
            bytes += job.page_bytes();
            more = items.len() == limit || (bytes > PAGE_BYTES_MAX && !items.is_empty());
            if more {
                break;
            }
            items.push(job);
        }
        Page { items, more }
    }

    /// One queue and its counts.
    #[must_use]
    pub fn queue(&self, name: &str) -> Option<QueueInfo> {
        self.queues.get(name).map(|shelf| QueueInfo {
            name: name.to_owned(),
            created_at: shelf.created_at,
            settings: shelf.settings,
            counts: shelf.counts,
            oldest_queued_at: shelf.waiting.first().map(|id| self.jobs[id].created_at),
        })
    }

    /// Queues by name, from after `after`.
    #[must_use]
    pub fn queues(&self, after: Option<&str>, limit: usize) -> Page<QueueInfo> {
        let names = self.queues.keys().filter(|name| after.is_none_or(|after| name.as_str() > after));
        Page::cut(names.filter_map(|name| self.queue(name)), limit)
    }

    /// Why a job is not running now.
    #[must_use]
    pub fn explain(&self, id: JobId, now: Time) -> Option<Explanation> {
        self.situation(id, now).map(|situation| explain(&situation, now))
    }

    /// What bears on whether a job can run at `now`.
    #[must_use]
    pub fn situation(&self, id: JobId, now: Time) -> Option<Situation> {
        let job = self.job(id)?;
        let shelf = self.queues.get(&job.queue)?;
        let lane = job.ordering_key.as_ref().and_then(|key| shelf.lane(key));
        let ahead = lane.and_then(|lane| {
            let earlier = lane.running.or_else(|| lane.unfinished.first().copied());
            earlier.filter(|first| *first != id)
        });
        Some(Situation {
            settings: shelf.settings,
            running: shelf.counts.running,
            engine_max: self.max_running,
            engine_running: self.running,
            key_running: job.limit_key.as_ref().map_or(0, |key| shelf.running_of_key.get(key).copied().unwrap_or(0)),
            ahead: ahead.and_then(|id| self.job(id)).map(Box::new),
            lane_blocked_by: lane.and_then(|lane| lane.blocked_by),
            holders: self.holders(Some(&job.queue)),
            engine_holders: self.max_running.map_or_else(Vec::new, |_| self.holders(None)),
            spent_until: shelf.spent_until(now),
            key_spent_until: job.limit_key.as_ref().and_then(|key| shelf.key_spent_until(key, now)),
            watch: self.watch(&job.queue, &job.kind, now),
            job,
        })
    }

    /// Who holds jobs of a queue now, or of any, a few of them.
    fn holders(&self, queue: Option<&str>) -> Vec<String> {
        let of_queue = self.grants.values().filter(|grant| queue.is_none_or(|queue| grant.queue == queue));
        let owners: BTreeSet<&String> = of_queue.map(|grant| &grant.lease.owner).collect();
        owners.into_iter().take(HOLDERS_SHOWN).cloned().collect()
    }

    fn shown(&self, job: &Job) -> Job {
        let grant = job.token.filter(|_| job.status == Status::Running).and_then(|token| self.grants.get(&token));
        let lease = grant.map(|grant| grant.lease.clone());
        Job { lease, ..job.clone() }
    }

    /// How long until time alone may make these queues claimable; `opens_at` is when a rate that was met is whole again.
    /// What cannot open a queue does not count: whoever waits would ask at once, and again at once.
    pub(super) fn again_in_ms(&self, queues: &BTreeSet<&str>, opens_at: Option<Time>, now: Time) -> Option<u64> {
        let next = if self.full() {
            self.deadlines.first().map(|(at, _)| *at)
        } else {
            let mut next = opens_at;
            for queue in queues {
                let Some(shelf) = self.queues.get(*queue) else { continue };
                if shelf.settings.paused || shelf.spent_until(now).is_some() {
                    continue;
                }
                let ends =
                    self.grants.values().filter(|grant| grant.queue == *queue).map(|grant| grant.lease.expires_at);
                sooner(&mut next, ends.min());
                sooner(&mut next, shelf.scheduled.first().map(|(at, _)| *at).filter(|_| !shelf.full()));
            }
            next
        };
        // Rounded up: asking a moment too early would find nothing.
        next.map(|at| Time(at.0.saturating_add(999)).ms_since(now))
    }
}
