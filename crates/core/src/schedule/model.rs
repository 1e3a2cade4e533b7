//! All schedules as one value: the reference that every backend is compared with.
//!
//! Always true: each method is one atomic step at the instant it is given; what it refuses, it leaves untouched.

use super::request::{Due, DueSchedule, Fire, Fired, Firing, Put, Refused, Schedule};
use super::rules::{self, FIRINGS_KEPT, Standing};
use crate::page::Page;
use crate::queue::{NewJob, Queues};
use crate::time::Time;
use std::collections::BTreeMap;
use std::ops::Bound;

/// Every schedule of one engine, and the last firings of each.
#[derive(Debug, Default)]
pub struct Schedules {
    schedules: BTreeMap<String, Kept>,
    /// One counter for all, so that a schedule removed and put again never has a revision it had before.
    last_revision: i64,
}

#[derive(Debug)]
struct Kept {
    schedule: Schedule,
    firings: BTreeMap<Time, Firing>,
}

impl Schedules {
    /// No schedules yet.
    #[must_use]
    pub fn new() -> Schedules {
        Schedules::default()
    }

    /// Puts a definition in place, over the revision it was made from (T4). It was checked before. What is there
    /// already stays as it is, its revision too.
    pub fn put(&mut self, put: Put, now: Time) -> Result<Schedule, Refused> {
        let found = self.schedules.get_mut(&put.name);
        if found.as_ref().map(|kept| kept.schedule.revision) != put.revision {
            return Err(Refused::Changed);
        }
        let Some(kept) = found else {
            let schedule = Schedule {
                name: put.name.clone(),
                definition: put.definition,
                revision: self.last_revision + 1,
                created_at: now,
                updated_at: now,
                next_at: put.next_at,
                last: None,
                fired: 0,
                missed: 0,
                missed_at: None,
            };
            self.last_revision += 1;
            self.schedules.insert(put.name, Kept { schedule: schedule.clone(), firings: BTreeMap::new() });
            return Ok(schedule);
        };
        let schedule = &mut kept.schedule;
        if schedule.definition == put.definition {
            return Ok(schedule.clone());
        }
        if !rules::keeps_cursor(&schedule.definition, &put.definition) {
            if put.next_at.zip(schedule.last).is_some_and(|(next, last)| next <= last.slot) {
                return Err(Refused::Behind);
            }
            schedule.next_at = put.next_at;
        }
        schedule.definition = put.definition;
        self.last_revision += 1;
        schedule.revision = self.last_revision;
        schedule.updated_at = now;
        Ok(schedule.clone())
    }

    /// One schedule.
    #[must_use]
    pub fn schedule(&self, name: &str) -> Option<Schedule> {
        self.schedules.get(name).map(|kept| kept.schedule.clone())
    }

    /// Schedules by name, from after `after`.
    #[must_use]
    pub fn schedules(&self, after: Option<&str>, limit: usize) -> Page<Schedule> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        let rest = self.schedules.range::<str, _>((from, Bound::Unbounded));
        Page::cut(rest.map(|(_, kept)| kept.schedule.clone()), limit)
    }

    /// Removes a schedule and its firings, not the jobs; whether it was there.
    pub fn remove(&mut self, name: &str) -> bool {
        self.schedules.remove(name).is_some()
    }

    /// The last firings of a schedule, newest first, from below `before`.
    #[must_use]
    pub fn firings(&self, name: &str, before: Option<Time>, limit: usize) -> Page<Firing> {
        let Some(kept) = self.schedules.get(name) else { return Page { items: Vec::new(), more: false } };
        let below = before.map_or(Bound::Unbounded, Bound::Excluded);
        let rest = kept.firings.range((Bound::Unbounded, below)).rev();
        Page::cut(rest.map(|(_, firing)| *firing), limit)
    }

    /// At most `limit` schedules that are due, the longest first, and when to look again.
    #[must_use]
    pub fn due(&self, limit: usize, now: Time) -> Due {
        let awake = self.schedules.values().map(|kept| &kept.schedule).filter(|schedule| !schedule.definition.paused);
        let mut timed: Vec<(Time, &Schedule)> =
            awake.filter_map(|schedule| schedule.next_at.map(|at| (at, schedule))).collect();
        timed.sort_by(|a, b| (a.0, &a.1.name).cmp(&(b.0, &b.1.name)));
        let due = timed.iter().filter(|(at, _)| *at <= now).take(limit).map(|(at, schedule)| DueSchedule {
            name: schedule.name.clone(),
            revision: schedule.revision,
            cron: schedule.definition.cron.clone(),
            zone: schedule.definition.zone.clone(),
            catch_up: schedule.definition.catch_up,
            next_at: *at,
            payload_bytes: schedule.definition.job.payload.len() as u64,
        });
        let next_at = timed.iter().map(|(at, _)| *at).find(|at| *at > now);
        Due { now, schedules: due.collect(), next_at }
    }

    /// Deals with slots that are due, if nobody has since they were looked at (T1): their jobs go into `queues` in the
    /// same step.
    pub fn fire(&mut self, fire: &Fire, queues: &mut Queues, now: Time) -> Result<Fired, Refused> {
        let kept = self.schedules.get_mut(&fire.name).ok_or(Refused::Absent)?;
        let schedule = &mut kept.schedule;
        let (revision, paused, next_at) = (schedule.revision, schedule.definition.paused, schedule.next_at);
        rules::judge(Standing { revision, paused, next_at }, fire, now)?;
        let template = &schedule.definition.job;
        let jobs: Vec<NewJob> = fire.slots.iter().map(|slot| template.clone().run_at(*slot)).collect();
        // A template has no key, so nothing can conflict.
        let enqueued = queues.enqueue(jobs, now).unwrap_or_default();
        let fired = Fired { at: now, jobs: enqueued.iter().map(|job| job.id).collect() };
        for (slot, job) in fire.slots.iter().zip(&fired.jobs) {
            let firing = Firing { slot: *slot, fired_at: now, job: *job };
            kept.firings.insert(*slot, firing);
            schedule.last = Some(firing);
        }
        while kept.firings.len() > FIRINGS_KEPT {
            kept.firings.pop_first();
        }
        schedule.fired += fire.slots.len() as u64;
        schedule.missed += u64::from(fire.missed);
        schedule.missed_at = fire.missed_at.or(schedule.missed_at);
        schedule.next_at = fire.next_at;
        self.last_revision += 1;
        schedule.revision = self.last_revision;
        Ok(fired)
    }
}
