//! Applies operations to a store and to core at the same instant, and compares; and, apart from core, counts for itself
//! which slots were fired, so that a mistake which core and a backend share is still found.

use super::Met;
use super::op::{NAMES, Op, Seen, op};
use crate::Store;
use crate::conformance::walk::{Bench, Chance, Report, Tables, Walk, Wrong, same, unwell};
use async_trait::async_trait;
use std::collections::{BTreeMap, BTreeSet};
use tenure_core::Time;
use tenure_core::queue::{Filter, Job, JobId, NewJob, Queues};
use tenure_core::retry::Backoff;
use tenure_core::schedule::rules::{FIRINGS_KEPT, keeps_cursor};
use tenure_core::schedule::{CatchUp, Definition, Fire, Firing, Put, Refused, Schedule, Schedules};

/// A store and core, schedule by schedule.
pub struct ScheduleWalk {
    bench: Bench,
    schedules: Schedules,
    queues: Queues,
    /// Jobs that were fired.
    jobs: Tables<JobId>,
    /// Revisions that were seen of each schedule.
    seen: BTreeMap<String, Vec<i64>>,
    /// The last slot fired of each schedule that is there, counted apart from core.
    fired: BTreeMap<String, BTreeSet<Time>>,
    fired_in_all: usize,
    latest: Time,
    removed: BTreeSet<String>,
    report: Report<Met>,
}

#[async_trait]
impl Walk for ScheduleWalk {
    type Op = Op;
    type Met = Met;
    const WORTH_MEETING: &'static [Met] = Met::ALL;
    const LONG: u64 = 3_000;
    const SHORT: usize = 100;

    fn draw(chance: &mut Chance) -> Op {
        op(chance)
    }

    async fn open(bench: Bench) -> ScheduleWalk {
        ScheduleWalk {
            latest: bench.now,
            bench,
            schedules: Schedules::new(),
            queues: Queues::new(),
            jobs: Tables::new(),
            seen: BTreeMap::new(),
            fired: BTreeMap::new(),
            fired_in_all: 0,
            removed: BTreeSet::new(),
            report: Report::default(),
        }
    }

    /// Every schedule and its last firings.
    async fn compare(&mut self) -> Result<(), Wrong> {
        for store in &self.bench.handles {
            for name in NAMES {
                let theirs = store.schedule(name).await.map_err(unwell)?.map(|schedule| self.to_core(schedule));
                same("schedule", &theirs, &self.schedules.schedule(name))?;
                self.firings(&**store, name, None, 1_000).await?;
            }
        }
        Ok(())
    }

    /// … and the jobs, counted.
    async fn compare_all(&mut self) -> Result<(), Wrong> {
        self.compare().await?;
        for store in &self.bench.handles {
            let (mut jobs, mut below) = (0, None);
            loop {
                let page = store.jobs(Filter::default(), below, 1_000).await.map_err(unwell)?;
                jobs += page.items.len();
                below = page.items.last().map(|job| job.id);
                if !page.more {
                    break;
                }
            }
            same("T1: jobs and slots fired", &jobs, &self.fired_in_all)?;
        }
        Ok(())
    }

    fn report(&mut self) -> &mut Report<Met> {
        &mut self.report
    }

    async fn apply(&mut self, op: &Op, store: &dyn Store) -> Result<(), Wrong> {
        match op {
            Op::Put { name, definition: n, paused, seen, next_in } => {
                let definition = Definition { paused: *paused, ..definition(*n) };
                let next_at = next_in.map(|seconds| Time(self.bench.now.0 + seconds * 1_000_000));
                let name = NAMES[*name];
                let put = Put { name: name.into(), definition, revision: self.revision(name, *seen), next_at };
                self.put(store, put).await
            }
            Op::Remove(name) => {
                let name = NAMES[*name];
                let theirs = store.remove_schedule(name).await.map_err(unwell)?;
                same("remove", &theirs, &self.schedules.remove(name))?;
                self.fired.remove(name);
                if theirs {
                    self.removed.insert(name.to_owned());
                }
                Ok(())
            }
            Op::Fire { name, seen, from, steps, missed, then } => {
                let fire = self.sketch(NAMES[*name], *seen, (*from, steps, *missed, *then));
                self.fire(store, fire).await
            }
            Op::Clock(seconds) => {
                self.bench.set_clock(Time(self.bench.now.0 + seconds * 1_000_000)).await;
                self.latest = self.latest.max(self.bench.now);
                Ok(())
            }
            Op::Due(limit) => {
                let theirs = store.due_schedules(*limit).await.map_err(unwell)?;
                same("due", &theirs, &self.schedules.due(*limit as usize, self.bench.now))
            }
            Op::List { after, limit } => {
                let after = after.map(|n| NAMES[n]);
                let mut theirs = store.schedules(after, *limit).await.map_err(unwell)?;
                theirs.items = theirs.items.into_iter().map(|schedule| self.to_core(schedule)).collect();
                same("list", &theirs, &self.schedules.schedules(after, *limit as usize))
            }
            Op::Firings { name, below, limit } => {
                let below = below.map(|seconds| Time(self.bench.now.0 - seconds * 1_000_000));
                self.firings(store, NAMES[*name], below, *limit).await
            }
        }
    }
}

impl ScheduleWalk {
    async fn put(&mut self, store: &dyn Store, put: Put) -> Result<(), Wrong> {
        let before = self.schedules.schedule(&put.name);
        let theirs = store.put_schedule(put.clone()).await.map_err(unwell)?;
        let theirs = theirs.map(|schedule| self.to_core(schedule));
        let ours = self.schedules.put(put.clone(), self.bench.now);
        same("put", &theirs, &ours)?;
        match (&ours, &before) {
            (Ok(_), None) => {
                self.report.meet(Met::Created);
                if self.removed.contains(&put.name) {
                    self.report.meet(Met::CreatedAgain);
                }
            }
            (Ok(_), Some(before)) if before.definition == put.definition => self.report.meet(Met::SamePut),
            (Ok(_), Some(before)) => {
                let kept = keeps_cursor(&before.definition, &put.definition);
                self.report.meet(if kept { Met::CursorKept } else { Met::CursorMoved });
            }
            (Err(Refused::Behind), _) => self.report.meet(Met::PutBehind),
            (Err(_), _) => self.report.meet(Met::PutChanged),
        }
        self.saw(&put.name);
        Ok(())
    }

    async fn fire(&mut self, store: &dyn Store, fire: Fire) -> Result<(), Wrong> {
        let theirs = store.fire(fire.clone()).await.map_err(unwell)?;
        let ours = self.schedules.fire(&fire, &mut self.queues, self.bench.now);
        if let (Ok(theirs), Ok(ours)) = (&theirs, &ours) {
            same("jobs of a firing", &theirs.jobs.len(), &ours.jobs.len())?;
            for (theirs, ours) in theirs.jobs.iter().zip(&ours.jobs) {
                self.jobs.added(*theirs, *ours)?;
            }
        }
        let translated = theirs.map(|mut fired| {
            fired.jobs.iter_mut().for_each(|job| *job = self.jobs.to_core(*job));
            fired
        });
        same("fire", &translated, &ours)?;
        let met = match &ours {
            Ok(fired) => {
                self.count(&fire)?;
                let first = self.jobs.ids.len() - fired.jobs.len();
                for (theirs, ours) in &self.jobs.ids[first..] {
                    let theirs = store.job(*theirs).await.map_err(unwell)?.map(|job| Job { id: *ours, ..job });
                    same("a fired job", &theirs, &self.queues.job(*ours))?;
                }
                if fire.missed > 0 {
                    self.report.meet(Met::Dropped);
                }
                if fire.slots.len() > 1 { Met::FiredMany } else { Met::FiredOne }
            }
            Err(Refused::Absent) => Met::FireAbsent,
            Err(Refused::Changed) => Met::FireChanged,
            Err(Refused::Paused) => Met::FirePaused,
            Err(Refused::NotDue) => {
                if fire.slots.first().is_some_and(|slot| *slot <= self.latest && *slot > self.bench.now) {
                    self.report.meet(Met::FireAfterStepBack);
                }
                Met::FireNotDue
            }
            Err(Refused::Behind) => Met::FireBehind,
        };
        self.report.meet(met);
        self.saw(&fire.name);
        Ok(())
    }

    /// Judges an accepted firing by itself: each slot once, onward, and not before its time.
    fn count(&mut self, fire: &Fire) -> Result<(), Wrong> {
        let fired = self.fired.entry(fire.name.clone()).or_default();
        for slot in &fire.slots {
            if *slot > self.bench.now {
                return Err(format!("T2: {slot:?} was fired at {:?}", self.bench.now));
            }
            if fired.last().is_some_and(|last| last >= slot) {
                return Err(format!("T1: {slot:?} was fired after {:?}", fired.last()));
            }
            fired.insert(*slot);
        }
        self.fired_in_all += fire.slots.len();
        if fired.len() > FIRINGS_KEPT {
            self.report.meet(Met::Trimmed);
        }
        Ok(())
    }

    async fn firings(&self, store: &dyn Store, name: &str, below: Option<Time>, limit: u32) -> Result<(), Wrong> {
        let mut theirs = store.firings(name, below, limit).await.map_err(unwell)?;
        theirs.items.iter_mut().for_each(|firing| firing.job = self.jobs.to_core(firing.job));
        same("firings", &theirs, &self.schedules.firings(name, below, limit as usize))
    }

    /// A firing as a scheduler might send it, and as none should.
    fn sketch(&self, name: &str, seen: Seen, (from, steps, missed, then): (i64, &[i64], u32, i64)) -> Fire {
        let cursor = self.schedules.schedule(name).and_then(|schedule| schedule.next_at).unwrap_or(self.bench.now);
        let mut at = cursor.0 + from * 1_000_000;
        let missed_at = (missed > 0).then_some(Time(at));
        if missed > 0 {
            at += 1_000_000;
        }
        let mut slots = Vec::new();
        for step in steps {
            slots.push(Time(at));
            at += step * 1_000_000;
        }
        let last = slots.last().copied().or(missed_at).unwrap_or(cursor);
        let next_at = Some(Time(last.0 + then * 1_000_000));
        let revision = self.revision(name, seen).unwrap_or(-1);
        Fire { name: name.to_owned(), revision, slots, missed, missed_at, next_at }
    }

    fn revision(&self, name: &str, seen: Seen) -> Option<i64> {
        let current = self.schedules.schedule(name).map(|schedule| schedule.revision);
        let older = self.seen.get(name).and_then(|seen| seen.iter().rev().find(|seen| Some(**seen) != current));
        match seen {
            Seen::Current => current,
            Seen::Older => older.copied().or(current),
            Seen::Nothing => None,
        }
    }

    fn saw(&mut self, name: &str) {
        let revision = self.schedules.schedule(name).map(|schedule| schedule.revision);
        self.seen.entry(name.to_owned()).or_default().extend(revision);
    }

    fn to_core(&self, mut schedule: Schedule) -> Schedule {
        schedule.last = schedule.last.map(|last| Firing { job: self.jobs.to_core(last.job), ..last });
        schedule
    }
}

/// Definitions that differ in what moves the cursor, and in what does not.
fn definition(n: usize) -> Definition {
    let backoff = Backoff { initial_ms: 5, factor: 1.25, max_ms: 50, jitter: 0.0 };
    let job = NewJob::new("q", "k", "{ \"a\": [1, \"é\"]}");
    let base = Definition {
        cron: "* * * * *".to_owned(),
        zone: "UTC".to_owned(),
        catch_up: CatchUp::Latest,
        paused: false,
        job,
    };
    match n {
        0 => base,
        1 => Definition { catch_up: CatchUp::All, ..base },
        2 => Definition { cron: "*/5 * * * *".to_owned(), ..base },
        3 => Definition { zone: "Europe/Berlin".to_owned(), catch_up: CatchUp::None, ..base },
        4 => {
            let job = base.job.clone().priority(-4).attempts_max(2).timeout_ms(77).backoff(backoff);
            Definition { job, ..base }
        }
        _ => {
            let job = NewJob::new("other", "k2", "null").ordering_key("lane é").limit_key("tenant");
            Definition { cron: "@hourly".to_owned(), job, ..base }
        }
    }
}
