//! Enqueuing: what is added to a job is added to the call, and the call is awaited.

use super::IntoJob;
use crate::error::only;
use crate::worker::ms;
use crate::{CallerTransaction, Result, Tenure};
use futures_util::future::BoxFuture;
use std::future::IntoFuture;
use std::time::Duration;
use tenure_core::Time;
use tenure_core::queue::{Enqueued, NewJob};
use tenure_core::retry::Backoff;

/// A job to be added once this is awaited. Made by [`Tenure::enqueue`].
#[must_use = "nothing is enqueued before it is awaited"]
#[derive(Debug)]
pub struct Enqueue<'a> {
    tenure: &'a Tenure,
    job: Result<NewJob>,
    after: Option<Duration>,
}

impl Tenure {
    /// Adds a job: a typed [`Job`](crate::Job), or a [`NewJob`] made by hand.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> tenure::Result<()> {
    /// # use std::time::Duration;
    /// # use tenure::{NewJob, Tenure};
    /// # let tenure = Tenure::open("memory:").await?;
    /// let job = NewJob::new("images", "resize", "42");
    /// let first = tenure.enqueue(job.clone()).key("asset-42").after(Duration::from_secs(60)).await?;
    /// // The same key and body is the same job.
    /// assert!(tenure.enqueue(job).key("asset-42").await?.deduplicated);
    /// # Ok(()) }
    /// ```
    pub fn enqueue(&self, job: impl IntoJob) -> Enqueue<'_> {
        Enqueue { tenure: self, job: job.into_job(), after: None }
    }

    /// Adds jobs, all or none, in this order.
    pub fn enqueue_all<J: IntoJob>(&self, jobs: impl IntoIterator<Item = J>) -> EnqueueAll<'_> {
        EnqueueAll { tenure: self, jobs: jobs.into_iter().map(IntoJob::into_job).collect() }
    }
}

impl Enqueue<'_> {
    fn with(mut self, change: impl FnOnce(NewJob) -> NewJob) -> Self {
        self.job = self.job.map(change);
        self
    }

    /// In this queue instead of its type's own.
    pub fn queue(self, queue: impl Into<String>) -> Self {
        self.with(|job| NewJob { queue: queue.into(), ..job })
    }

    /// Not to be claimed before so much time has passed by the store's clock.
    pub fn after(mut self, span: Duration) -> Self {
        self.after = Some(span);
        self
    }

    /// Not to be claimed before this instant.
    pub fn at(self, run_at: impl Into<Time>) -> Self {
        self.with(|job| job.run_at(run_at.into()))
    }

    /// Higher is claimed first.
    pub fn priority(self, priority: i32) -> Self {
        self.with(|job| job.priority(priority))
    }

    /// The same key and body within the window is the same job (Q7).
    pub fn key(self, key: impl Into<String>) -> Self {
        self.with(|job| job.key(key))
    }

    /// How long the key is remembered; a day unless said otherwise, and at least until the job has ended.
    pub fn key_window(self, window: Duration) -> Self {
        self.with(|job| job.key_window_ms(ms(window)))
    }

    /// One at a time with the others of this key, in the order of their ids (Q9).
    pub fn ordering_key(self, key: impl Into<String>) -> Self {
        self.with(|job| job.ordering_key(key))
    }

    /// Counted against this tenant's limit (Q8).
    pub fn limit_key(self, key: impl Into<String>) -> Self {
        self.with(|job| job.limit_key(key))
    }

    /// Attempts it may have.
    pub fn attempts_max(self, attempts_max: u32) -> Self {
        self.with(|job| job.attempts_max(attempts_max))
    }

    /// Its own backoff.
    pub fn backoff(self, backoff: Backoff) -> Self {
        self.with(|job| job.backoff(backoff))
    }

    /// How long one attempt may take.
    pub fn timeout(self, timeout: Duration) -> Self {
        self.with(|job| job.timeout_ms(ms(timeout)))
    }

    /// In the caller's own transaction: it is there if, and once, that is committed (Q10).
    pub async fn in_tx<T: CallerTransaction>(self, tx: &mut T) -> Result<Enqueued> {
        let tenure = self.tenure;
        let job = self.ready().await?;
        only(tenure.verbs().enqueue_all_in(tx, &[job]).await?)
    }

    async fn ready(self) -> Result<NewJob> {
        let job = self.job?;
        let Some(after) = self.after else { return Ok(job) };
        Ok(job.run_at(self.tenure.now().await?.plus_ms(ms(after))))
    }
}

impl<'a> IntoFuture for Enqueue<'a> {
    type Output = Result<Enqueued>;
    type IntoFuture = BoxFuture<'a, Result<Enqueued>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let tenure = self.tenure;
            let job = self.ready().await?;
            only(tenure.verbs().enqueue_all(vec![job]).await?)
        })
    }
}

/// Jobs to be added once this is awaited, all or none. Made by [`Tenure::enqueue_all`].
#[must_use = "nothing is enqueued before it is awaited"]
#[derive(Debug)]
pub struct EnqueueAll<'a> {
    tenure: &'a Tenure,
    jobs: Result<Vec<NewJob>>,
}

impl EnqueueAll<'_> {
    /// In the caller's own transaction: they are there if, and once, that is committed (Q10).
    pub async fn in_tx<T: CallerTransaction>(self, tx: &mut T) -> Result<Vec<Enqueued>> {
        self.tenure.verbs().enqueue_all_in(tx, &self.jobs?).await
    }
}

impl<'a> IntoFuture for EnqueueAll<'a> {
    type Output = Result<Vec<Enqueued>>;
    type IntoFuture = BoxFuture<'a, Result<Vec<Enqueued>>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move { self.tenure.verbs().enqueue_all(self.jobs?).await })
    }
}
