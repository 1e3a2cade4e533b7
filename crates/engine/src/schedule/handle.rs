//! A handle on one schedule, and lists. Making one asks nobody.

use super::{CatchUp, Firing, NewSchedule, Schedule, Slot};
use crate::error::absent;
use crate::queue::IntoJob;
use crate::{Error, Result, Tenure};
use futures_util::future::BoxFuture;
use std::future::IntoFuture;
use std::sync::Arc;
use tenure_core::changes::{Changed, Face, Subject};
use tenure_core::queue::NewJob;
use tenure_core::{Page, Time};

/// One schedule. Made by [`Tenure::schedule`].
#[derive(Clone, Debug)]
pub struct ScheduleHandle {
    tenure: Tenure,
    name: Arc<str>,
}

impl Tenure {
    /// The schedule `name`.
    #[must_use]
    pub fn schedule(&self, name: &str) -> ScheduleHandle {
        ScheduleHandle { tenure: self.clone(), name: name.into() }
    }

    /// Schedules by name.
    pub fn schedules(&self) -> ListSchedules {
        ListSchedules { tenure: self.clone(), after: None }
    }
}

impl ScheduleHandle {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Puts it in place with this cron expression: say [what it enqueues](PutSchedule::enqueues), then await it. Every start
    /// of a program may put its schedules: what is there already stays as it is.
    pub fn cron(&self, cron: impl Into<String>) -> PutSchedule {
        PutSchedule {
            tenure: self.tenure.clone(),
            name: self.name.clone(),
            cron: cron.into(),
            zone: None,
            catch_up: None,
            paused: None,
        }
    }

    /// What it is, and when it is due next.
    pub async fn info(&self) -> Result<Schedule> {
        self.tenure.verbs().schedule(&self.name).await?.ok_or_else(|| self.absent())
    }

    /// Lets it rest: no slot is fired, and none counts as missed.
    pub async fn pause(&self) -> Result<Schedule> {
        self.tenure.verbs().pause_schedule(&self.name).await?.ok_or_else(|| self.absent())
    }

    /// Ends its rest; it goes on with the first slot after now.
    pub async fn resume(&self) -> Result<Schedule> {
        self.tenure.verbs().resume_schedule(&self.name).await?.ok_or_else(|| self.absent())
    }

    /// Removes it; its jobs stay. Whether it was there.
    pub async fn remove(&self) -> Result<bool> {
        self.tenure.verbs().remove_schedule(&self.name).await
    }

    /// Its last firings, newest first, from below `before`; the last hundred are kept.
    pub async fn firings(&self, before: Option<Time>, limit: u32) -> Result<Page<Firing>> {
        self.tenure.verbs().firings(&self.name, before, limit).await
    }

    /// The next `limit` slots.
    pub async fn next(&self, limit: u32) -> Result<Vec<Slot>> {
        let definition = self.info().await?.definition;
        self.tenure.verbs().preview(&definition.cron, &definition.zone, limit).await
    }

    /// What was changed about it and by whom, oldest first (L8).
    pub async fn changes(&self) -> Result<Vec<Changed>> {
        let of = Subject::new(Face::Schedule, &*self.name);
        self.tenure.verbs().changes(of).await?.ok_or_else(|| self.absent())
    }

    fn absent(&self) -> Error {
        absent("schedule", &self.name)
    }
}

/// A schedule, being written. Made by [`ScheduleHandle::cron`].
#[must_use = "nothing is put before `enqueues` is awaited"]
#[derive(Clone, Debug)]
pub struct PutSchedule {
    tenure: Tenure,
    name: Arc<str>,
    cron: String,
    zone: Option<String>,
    catch_up: Option<CatchUp>,
    paused: Option<bool>,
}

impl PutSchedule {
    /// By the clocks of this zone; UTC unless said otherwise.
    pub fn zone(mut self, zone: impl Into<String>) -> PutSchedule {
        self.zone = Some(zone.into());
        self
    }

    /// What is done about slots that came due while nobody looked (T4).
    pub fn catch_up(mut self, catch_up: CatchUp) -> PutSchedule {
        self.catch_up = Some(catch_up);
        self
    }

    /// Whether it rests; one that is there already stays as it is unless this is said.
    pub fn paused(mut self, paused: bool) -> PutSchedule {
        self.paused = Some(paused);
        self
    }

    /// At each slot, this job.
    pub fn enqueues(self, job: impl IntoJob) -> PutScheduleOf {
        PutScheduleOf { job: job.into_job(), put: self }
    }
}

/// A schedule that is put in place once this is awaited. Made by [`PutSchedule::enqueues`].
#[must_use = "nothing is put before it is awaited"]
#[derive(Debug)]
pub struct PutScheduleOf {
    put: PutSchedule,
    job: Result<NewJob>,
}

impl IntoFuture for PutScheduleOf {
    type Output = Result<Schedule>;
    type IntoFuture = BoxFuture<'static, Result<Schedule>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let PutSchedule { tenure, name, cron, zone, catch_up, paused } = self.put;
            let mut new = NewSchedule::new(&*name, cron, self.job?);
            new.paused = paused;
            new.zone = zone.unwrap_or(new.zone);
            new.catch_up = catch_up.unwrap_or(new.catch_up);
            tenure.verbs().put_schedule(new).await
        })
    }
}

/// Schedules by name. Made by [`Tenure::schedules`].
#[must_use = "nothing is asked before `page`"]
#[derive(Clone, Debug)]
pub struct ListSchedules {
    tenure: Tenure,
    after: Option<String>,
}

impl ListSchedules {
    /// Only those after this name: the last of the page before.
    pub fn after(mut self, name: impl Into<String>) -> ListSchedules {
        self.after = Some(name.into());
        self
    }

    /// At most `limit` of them.
    pub async fn page(self, limit: u32) -> Result<Page<Schedule>> {
        self.tenure.verbs().schedules(self.after.as_deref(), limit).await
    }
}
