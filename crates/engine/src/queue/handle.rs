//! Handles on one queue and on one job. Making one asks nobody.

use super::job::from_json;
use super::{ClaimJobs, ListJobs};
use crate::error::absent;
use crate::rest::Rest;
use crate::worker::ms;
use crate::{Error, Explanation, Result, Tenure};
use futures_util::future::BoxFuture;
use serde::de::DeserializeOwned;
use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::changes::{Changed, Face, Subject};
use tenure_core::queue::{Change, Event, Job, JobId, LaneOnFailure, QueueInfo, Rate, Status};

/// One queue. Made by [`Tenure::queue`]; the name is checked by each call.
#[derive(Clone, Debug)]
pub struct QueueHandle {
    tenure: Tenure,
    name: Arc<str>,
}

/// One job. Made by [`Tenure::job`].
#[derive(Clone, Debug)]
pub struct JobHandle {
    tenure: Tenure,
    id: JobId,
}

impl Tenure {
    /// The queue `name`.
    #[must_use]
    pub fn queue(&self, name: &str) -> QueueHandle {
        QueueHandle { tenure: self.clone(), name: name.into() }
    }

    /// The job `id`.
    #[must_use]
    pub fn job(&self, id: JobId) -> JobHandle {
        JobHandle { tenure: self.clone(), id }
    }

    /// The most jobs that may run at once in the whole engine (Q8).
    pub async fn max_running(&self) -> Result<Option<u32>> {
        self.verbs().limit().await
    }

    /// Sets the most jobs that may run at once in the whole engine; `None` is no limit. Lowering it takes nothing away: new
    /// claims wait until fewer run.
    pub async fn set_max_running(&self, max: impl Into<Option<u32>>) -> Result<()> {
        self.verbs().set_limit(max.into()).await
    }
}

impl QueueHandle {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Settings, limits and counts; not found if it was never used.
    pub async fn info(&self) -> Result<QueueInfo> {
        self.tenure.verbs().queue(&self.name).await?.ok_or_else(|| absent("queue", &self.name))
    }

    /// Takes jobs that are due, by hand; a [worker](Tenure::worker) does it by itself.
    pub fn claim(&self) -> ClaimJobs {
        ClaimJobs::new(&self.tenure, &self.name)
    }

    /// Its jobs, to be narrowed and asked for a page, or acted on.
    pub fn jobs(&self) -> ListJobs {
        self.tenure.jobs().queue(&*self.name)
    }

    /// Hands out none of its jobs, until [`resume`](QueueHandle::resume).
    pub async fn pause(&self) -> Result<QueueInfo> {
        self.change().paused(true).await
    }

    /// Hands out its jobs again.
    pub async fn resume(&self) -> Result<QueueInfo> {
        self.change().paused(false).await
    }

    /// The most of its jobs that may run at once; `None` is no limit (Q8).
    pub async fn max_running(&self, max: impl Into<Option<u32>>) -> Result<QueueInfo> {
        self.change().max_running(max).await
    }

    /// Changes several settings at once; a queue that was never used is made.
    pub fn change(&self) -> ChangeQueue {
        ChangeQueue { queue: self.clone(), change: Change::default() }
    }

    /// What was changed about it and by whom, oldest first (L8).
    pub async fn changes(&self) -> Result<Vec<Changed>> {
        let of = Subject::new(Face::Queue, &*self.name);
        self.tenure.verbs().changes(of).await?.ok_or_else(|| absent("queue", &self.name))
    }
}

/// Settings of a queue, changed once this is awaited. Binds claims that begin after it (Q8).
#[must_use = "nothing is changed before it is awaited"]
#[derive(Clone, Debug)]
pub struct ChangeQueue {
    queue: QueueHandle,
    change: Change,
}

impl ChangeQueue {
    /// Whether none of its jobs is handed out.
    pub fn paused(mut self, paused: bool) -> ChangeQueue {
        self.change.paused = Some(paused);
        self
    }

    /// The most of its jobs that may run at once.
    pub fn max_running(mut self, max: impl Into<Option<u32>>) -> ChangeQueue {
        self.change.max_running = Some(max.into());
        self
    }

    /// The most jobs of one `limit_key` that may run at once.
    pub fn max_running_per_key(mut self, max: impl Into<Option<u32>>) -> ChangeQueue {
        self.change.max_running_per_key = Some(max.into());
        self
    }

    /// The most jobs that may begin in a period.
    pub fn rate_limit(mut self, rate: impl Into<Option<Rate>>) -> ChangeQueue {
        self.change.rate_limit = Some(rate.into());
        self
    }

    /// The most jobs of one `limit_key` that may begin in a period.
    pub fn rate_limit_per_key(mut self, rate: impl Into<Option<Rate>>) -> ChangeQueue {
        self.change.rate_limit_per_key = Some(rate.into());
        self
    }

    /// What a job that failed for good does to the others of its `ordering_key`.
    pub fn lane_on_failure(mut self, then: impl Into<Option<LaneOnFailure>>) -> ChangeQueue {
        self.change.lane_on_failure = Some(then.into());
        self
    }

    /// How long finished jobs are kept.
    pub fn retention(mut self, retention: impl Into<Option<Duration>>) -> ChangeQueue {
        self.change.retention_ms = Some(retention.into().map(ms));
        self
    }
}

impl IntoFuture for ChangeQueue {
    type Output = Result<QueueInfo>;
    type IntoFuture = BoxFuture<'static, Result<QueueInfo>>;

    fn into_future(self) -> Self::IntoFuture {
        let ChangeQueue { queue: QueueHandle { tenure, name }, change } = self;
        Box::pin(async move { tenure.verbs().change_queue(&name, change).await })
    }
}

impl JobHandle {
    /// Its number.
    #[must_use]
    pub fn id(&self) -> JobId {
        self.id
    }

    /// Everything on record of it, as long as it is kept.
    pub async fn info(&self) -> Result<Job> {
        self.tenure.verbs().job(self.id).await?.ok_or_else(|| self.absent())
    }

    /// Why it is not running now, in one sentence and its reasons.
    pub async fn explain(&self) -> Result<Explanation> {
        self.tenure.verbs().explain(self.id).await?.ok_or_else(|| self.absent())
    }

    /// Everything that is known to have happened to it, oldest first (L8).
    pub async fn timeline(&self) -> Result<Vec<Event>> {
        self.tenure.verbs().timeline(self.id).await?.ok_or_else(|| self.absent())
    }

    /// Ends it: a waiting one at once, a running one by asking its holder, or with [`force`](Cancel::force) now (L11).
    pub fn cancel(&self, reason: impl Into<String>) -> Cancel {
        Cancel { job: self.clone(), reason: reason.into(), force: false }
    }

    /// Puts a finished job back, with its attempts anew (L9).
    pub async fn retry(&self) -> Result<Status> {
        self.tenure.verbs().retry(self.id).await
    }

    /// Waits until it has ended, and reads its result. One that failed for good is [`Error::JobFailed`] with what it said.
    /// Put `tokio::time::timeout` around it where it must not take for ever.
    pub async fn wait<T: DeserializeOwned>(&self) -> Result<T> {
        let mut rest = Rest::default();
        loop {
            let job = self.info().await?;
            match job.status {
                Status::Completed => return from_json("result", job.result.as_deref().unwrap_or("null")),
                Status::Failed => {
                    let error = job.error.unwrap_or_default();
                    return Err(Error::JobFailed { id: self.id, error });
                }
                Status::Queued | Status::Running => {
                    tokio::time::sleep(rest.begin(Some(Duration::ZERO))).await;
                    rest.over();
                }
            }
        }
    }

    fn absent(&self) -> Error {
        absent("job", self.id)
    }
}

/// A cancel, carried out once this is awaited.
#[must_use = "nothing is cancelled before it is awaited"]
#[derive(Clone, Debug)]
pub struct Cancel {
    job: JobHandle,
    reason: String,
    force: bool,
}

impl Cancel {
    /// Without waiting for its holder, whose lease is lost (L11).
    pub fn force(mut self) -> Cancel {
        self.force = true;
        self
    }
}

impl IntoFuture for Cancel {
    type Output = Result<Status>;
    type IntoFuture = BoxFuture<'static, Result<Status>>;

    fn into_future(self) -> Self::IntoFuture {
        let Cancel { job: JobHandle { tenure, id }, reason, force } = self;
        Box::pin(async move {
            let reason = Some(reason.as_str()).filter(|reason| !reason.is_empty());
            tenure.verbs().cancel(id, reason, force).await
        })
    }
}
