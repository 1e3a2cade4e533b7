//! The worker: claims jobs, keeps their leases, runs their handlers, and writes how they ended.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> tenure::Result<()> {
//! use serde::{Deserialize, Serialize};
//! use tenure::prelude::*;
//!
//! #[derive(Serialize, Deserialize, Job)]
//! #[job(kind = "resize", queue = "images")]
//! struct Resize {
//!     asset: u64,
//! }
//!
//! async fn resize(cx: Context, job: Resize) -> Outcome<String> {
//!     cx.progress("decoding").await?; // any error means: try again
//!     Outcome::done(format!("images/{}.webp", job.asset))
//! }
//!
//! let tenure = Tenure::open("memory:").await?;
//! let job = tenure.enqueue(Resize { asset: 42 }).await?;
//!
//! // `run_until(shutdown)` in a service; `drain` ends when nothing is left to do.
//! let report = tenure.worker().queue("images").concurrency(16).handle(resize).drain().await?;
//! assert_eq!(report.completed, 1);
//! assert_eq!(tenure.job(job.id).wait::<String>().await?, "images/42.webp");
//! # Ok(()) }
//! ```
//!
//! What is worked on is a [face](face::Face): jobs, the stages and segments of a pipeline, or the chunks of a sync. All else is
//! the same for them. Three parts, each a pure `step` with a thin driver around it or small enough not to need one: the
//! [`Shift`](shift::Shift) decides what to claim and begin; the [heart](crate::heart) decides when to renew and when to stop,
//! on a thread and a connection of its own; the finisher gathers endings.
//!
//! Always true:
//! - nothing is written about a unit except under its lease (L3);
//! - a handler is told to stop, and is dropped, before the store can give its work away (L5);
//! - a handler that panics has failed; it does not take the worker with it.

pub(crate) mod context;
mod drive;
pub(crate) mod face;
mod finisher;
pub(crate) mod handler;
mod hooks;
mod jobs;
mod name;
mod outcome;
pub(crate) mod parts;
pub(crate) mod points;
mod run;
mod running;
pub(crate) mod shift;

pub use crate::heart::Cancelled;
pub use context::Context;
pub use hooks::Hooks;
pub use name::worker_name;
pub use outcome::{Outcome, Outcomes, Stop};

use crate::heart::Heart;
use crate::queue::Job;
use crate::{Error, Result, Tenure};
use context::Terms;
pub use face::Face;
use face::Standing;
pub use jobs::Jobs;
use parts::{Shared, together};
pub(crate) use points::Points;
use serde::Serialize;
use shift::{Plan, Share};
use std::any::{Any, TypeId};
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::bounds::{self, Code, Invalid};
use tokio::sync::watch;

/// Handlers at once, unless said otherwise: enough to hide the store's answers, few enough for a laptop.
const CONCURRENCY: usize = 10;
/// The most handlers of one worker.
const CONCURRENCY_MAX: u64 = 10_000;
/// How long handlers may go on after shutdown was asked for.
const GRACE: Duration = Duration::from_secs(30);
/// How long a handler that was told to stop may put its things away.
const CANCEL_GRACE: Duration = Duration::from_secs(5);

/// A queue that a worker serves, or a stage, with its share of the worker.
#[derive(Clone, Debug)]
pub struct QueueShare(pub(crate) Share);

impl QueueShare {
    /// A queue or stage with weight 1 and no limit but the worker's own.
    pub fn new(name: impl Into<String>) -> QueueShare {
        QueueShare(Share { name: name.into(), weight: 1, concurrency: None })
    }

    /// How often it is asked first, against the weights of the others.
    #[must_use]
    pub fn weight(mut self, weight: u32) -> QueueShare {
        self.0.weight = weight;
        self
    }

    /// The most of its jobs, or units, in hand at once.
    #[must_use]
    pub fn concurrency(mut self, concurrency: usize) -> QueueShare {
        self.0.concurrency = Some(concurrency);
        self
    }
}

impl<S: Into<String>> From<S> for QueueShare {
    fn from(name: S) -> QueueShare {
        QueueShare::new(name)
    }
}

/// What a worker did, of whichever face.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Report {
    /// Units completed.
    pub completed: u64,
    /// Of those, stages and segments whose outputs were already there.
    pub skipped: u64,
    /// Stages split.
    pub split: u64,
    /// Units that failed for good; of stages each attempt that failed, as whether it is tried again is not the worker's to
    /// say.
    pub failed: u64,
    /// Attempts that failed and will be tried again.
    pub retried: u64,
    /// Attempts put off.
    pub snoozed: u64,
    /// Units given back.
    pub released: u64,
    /// Endings refused because the lease was no longer held.
    pub refused: u64,
}

impl std::ops::AddAssign for Report {
    fn add_assign(&mut self, other: Report) {
        self.completed += other.completed;
        self.skipped += other.skipped;
        self.split += other.split;
        self.failed += other.failed;
        self.retried += other.retried;
        self.snoozed += other.snoozed;
        self.released += other.released;
        self.refused += other.refused;
    }
}

/// A worker, being set up: of jobs, made by [`Tenure::worker`], unless another face is named.
pub struct Worker<F: Face = Jobs> {
    pub(crate) face: F,
    pub(crate) plan: Plan,
    pub(crate) terms: Terms,
    cancel_grace: Duration,
    timeout_grace: Duration,
    hooks: Arc<dyn Hooks<F>>,
}

impl Tenure {
    /// A worker on this store, to be set up.
    #[must_use]
    pub fn worker(&self) -> Worker {
        let lease = Duration::from_millis(bounds::LEASE_MS_DEFAULT);
        Worker::of(self, worker_name(), Jobs { lease, upkeep: true, ..Jobs::default() })
    }
}

impl<F: Face> Worker<F> {
    pub(crate) fn of(tenure: &Tenure, owner: String, face: F) -> Worker<F> {
        let (concurrency, queues) = (CONCURRENCY, Vec::new());
        Worker {
            face,
            plan: Plan { queues, concurrency, prefetch: 0, grace: GRACE, drain: false },
            terms: Terms { tenure: tenure.clone(), owner, timeout_ms: None, shared: Arc::default(), points: None },
            cancel_grace: CANCEL_GRACE,
            timeout_grace: Duration::ZERO,
            hooks: Arc::new(hooks::Unwatched),
        }
    }

    /// Handlers at once; 10 unless said otherwise.
    #[must_use]
    pub fn concurrency(mut self, concurrency: usize) -> Worker<F> {
        self.plan.concurrency = concurrency;
        self
    }

    /// The name under which leases are held; by default [`worker_name`].
    #[must_use]
    pub fn name(mut self, owner: impl Into<String>) -> Worker<F> {
        self.terms.owner = owner.into();
        self
    }

    /// How long handlers may go on after shutdown was asked for; 30 s unless said otherwise.
    #[must_use]
    pub fn grace(mut self, grace: Duration) -> Worker<F> {
        self.plan.grace = grace;
        self
    }

    /// How long a handler that was told to stop may put its things away before it is dropped; 5 s unless said
    /// otherwise. A lease that is lost is not waited for.
    #[must_use]
    pub fn cancel_grace(mut self, grace: Duration) -> Worker<F> {
        self.cancel_grace = grace;
        self
    }

    /// How long one attempt may take at a unit that says nothing about it itself, as a job does by `timeout_ms`.
    #[must_use]
    pub fn timeout(mut self, timeout: Duration) -> Worker<F> {
        self.terms.timeout_ms = Some(ms(timeout));
        self
    }

    /// How long a handler whose time is over may put its things away before it is dropped; not at all unless said
    /// otherwise. Whatever it returns then, its attempt has failed (Q6).
    #[must_use]
    pub fn timeout_grace(mut self, grace: Duration) -> Worker<F> {
        self.timeout_grace = grace;
        self
    }

    /// A value for all handlers, read by [`Context::state`].
    #[must_use]
    pub fn state<T: Send + Sync + 'static>(mut self, value: T) -> Worker<F> {
        let value: Arc<dyn Any + Send + Sync> = Arc::new(value);
        Arc::make_mut(&mut self.terms.shared).insert(TypeId::of::<T>(), value);
        self
    }

    /// Whom to tell what happens.
    #[must_use]
    pub fn hooks(mut self, hooks: impl Hooks<F>) -> Worker<F> {
        self.hooks = Arc::new(hooks);
        self
    }

    pub(crate) fn with_points(mut self, points: Arc<Points>) -> Worker<F> {
        self.terms.points = Some(points);
        self
    }

    /// Checks what was set up.
    pub(crate) fn prepare(&mut self) -> Result<()> {
        F::prepare(self)?;
        bounds::name("worker", &self.terms.owner)?;
        self.plan.check()?;
        if let Some(timeout_ms) = self.terms.timeout_ms {
            bounds::within("timeout_ms", timeout_ms, 1, bounds::SPAN_MS_MAX)?;
        }
        Ok(())
    }

    /// A heart for what it will hold.
    pub(crate) async fn heart(&self) -> Result<Arc<Heart<F::Unit>>> {
        let Terms { tenure, owner, points, .. } = &self.terms;
        Ok(Arc::new(Heart::start(tenure.around.clone(), owner.clone(), tenure.apart(), points.clone()).await?))
    }

    /// Works, having been prepared. What is claimed is kept by `heart`; without one, by the face itself.
    pub(crate) async fn work(
        self,
        heart: Option<Arc<Heart<F::Unit>>>,
        leave: impl Future<Output = ()>,
        leave_now: impl Future<Output = ()>,
    ) -> Result<Report> {
        drive::drive(self, heart, leave, leave_now).await
    }
}

impl<F: Standing> Worker<F> {
    /// Works until `shutdown`; then stops claiming, gives back what has not begun, and lets handlers end within the
    /// grace before they are told to stop.
    pub async fn run_until(self, shutdown: impl Future<Output = ()>) -> Result<Report> {
        self.run_until_either(shutdown, std::future::pending()).await
    }

    /// The same, and from `now` on waits for no handler: they are dropped and their work given back.
    pub async fn run_until_either(
        mut self,
        shutdown: impl Future<Output = ()>,
        now: impl Future<Output = ()>,
    ) -> Result<Report> {
        let ((leave, _), (leave_now, _)) = (watch::channel(false), watch::channel(false));
        let shared = Shared::of(&self, &leave, &leave_now);
        let tenure = self.terms.tenure.clone();
        let upkeep = self.face.keeps_up() && !self.plan.drain;
        let mut parts: Vec<_> = self.face.beside().into_iter().map(|part| part(shared.clone())).collect();
        if parts.is_empty() || !self.face.is_idle() {
            self.prepare()?;
            let heart = self.heart().await?;
            parts.push(Box::pin(async move {
                let (leave, now) = (shared.leaving(), shared.leaving_now());
                self.work(Some(heart), leave, now).await
            }));
        }
        let upkeep = async move {
            if upkeep {
                tenure.upkeep().await;
            }
        };
        together(parts, leave, leave_now, shutdown, now, upkeep).await
    }

    /// Works until SIGINT or SIGTERM; a second one does not wait for handlers.
    pub async fn run_until_signalled(self) -> Result<Report> {
        let (first, second) = crate::signals::two()?;
        self.run_until_either(first, second).await
    }

    /// Ends by itself when nothing is due any more.
    #[must_use]
    pub fn until_idle(mut self) -> Worker<F> {
        self.plan.drain = true;
        self
    }

    /// Works until nothing is due any more: for tests, and for work run by another scheduler. Nothing is kept up meanwhile.
    pub async fn drain(self) -> Result<Report> {
        self.until_idle().run_until(std::future::pending()).await
    }
}

impl Worker {
    /// Whether [upkeep](Tenure::upkeep) (recovery, schedules, the orchestrator, pruning) runs beside the work, as it does
    /// unless this switches it off. Any number of workers may do it.
    #[must_use]
    pub fn upkeep(mut self, upkeep: bool) -> Worker {
        self.face.upkeep = upkeep;
        self
    }

    /// Works on the stages and segments of a pipeline too, as [set up](Tenure::stages) here. Name, state, concurrency and
    /// graces are this worker's.
    #[must_use]
    pub fn stages(mut self, stages: crate::pipeline::Stages) -> Worker {
        self.face.beside.add(stages.part());
        self
    }

    /// Works on the chunks of a matrix's syncs too, one pass after the other as they are planned, with this
    /// `async fn(ChunkContext) -> Result<rows, error>`.
    #[must_use]
    pub fn chunks<H, W, S, E>(mut self, matrix: impl Into<String>, handler: H) -> Worker
    where
        H: Fn(crate::sync::ChunkContext) -> W + Send + Sync + 'static,
        W: Future<Output = std::result::Result<S, E>> + Send + 'static,
        S: Into<crate::sync::Synced> + Send + 'static,
        E: std::fmt::Display + Send + 'static,
    {
        self.face.beside.add(crate::sync::chunks_of(matrix.into(), handler));
        self
    }

    /// Works on the offsets of domains too, as they come from `source`, with this `async fn(Work) -> Result<(), error>`. It
    /// holds them under this worker's name, and under a lease.
    #[must_use]
    pub fn domains<S, H, W, E>(mut self, source: S, handler: H) -> Worker
    where
        S: crate::domain::Source,
        H: Fn(crate::domain::Work) -> W + Send + Sync + 'static,
        W: Future<Output = std::result::Result<(), E>> + Send + 'static,
        E: std::fmt::Display + Send + 'static,
    {
        self.face.beside.add(crate::domain::offsets_of(source, handler));
        self
    }

    /// Serves this queue too: a name, or a [`QueueShare`] with a weight or a limit. Without any, the queues of the
    /// handlers' own job types are served.
    #[must_use]
    pub fn queue(mut self, queue: impl Into<QueueShare>) -> Worker {
        self.plan.share(queue.into().0);
        self
    }

    /// Jobs to claim ahead of free slots, for many short jobs. They share their worker's lease, count as running, and
    /// lose no attempt if the worker dies before they begin (L6). Nothing is claimed ahead while a limit is set (Q8).
    #[must_use]
    pub fn prefetch(mut self, prefetch: usize) -> Worker {
        self.plan.prefetch = prefetch;
        self
    }

    /// How long a lease lasts between heartbeats: how soon others get the work if this machine dies.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Worker {
        self.face.lease = lease;
        self
    }

    /// Claims only these kinds; by default those that have a handler.
    #[must_use]
    pub fn kinds<S: Into<String>>(mut self, kinds: impl IntoIterator<Item = S>) -> Worker {
        self.face.kinds = Some(kinds.into_iter().map(Into::into).collect());
        self
    }

    /// Runs jobs of type `J` with this `async fn(Context, J) -> Outcome<T>`.
    #[must_use]
    pub fn handle<J, T, F, Fut>(mut self, handler: F) -> Worker
    where
        J: Job,
        T: Serialize + Send + 'static,
        F: Fn(Context, J) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Outcome<T>> + Send + 'static,
    {
        self.face.handlers.add(handler);
        self
    }

    /// Runs jobs of type `J` with this `fn(Context, J) -> Outcome<T>`, on a thread of its own, where it may block. A
    /// thread cannot be dropped: ask [`Context::is_cancelled`] now and then.
    #[must_use]
    pub fn handle_blocking<J, T, F>(mut self, handler: F) -> Worker
    where
        J: Job,
        T: Serialize + Send + 'static,
        F: Fn(Context, J) -> Outcome<T> + Send + Sync + 'static,
    {
        self.face.handlers.add_blocking(handler);
        self
    }

    /// Runs jobs of every kind that has no handler of its own. The payload is `cx.job().payload`; what is returned is
    /// kept as JSON.
    #[must_use]
    pub fn handle_any<F, Fut>(mut self, handler: F) -> Worker
    where
        F: Fn(Context) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Outcome<Option<String>>> + Send + 'static,
    {
        self.face.handlers.add_any(handler);
        self
    }
}

/// A span in milliseconds, as stores and bounds take it.
pub(crate) fn ms(span: Duration) -> u64 {
    u64::try_from(span.as_millis()).unwrap_or(u64::MAX)
}

/// Refuses a worker that could do nothing.
pub(crate) fn no_handlers() -> Error {
    Invalid::new(Code::OutOfBounds, "handlers", "at least one: call `handle`", "none").into()
}

impl<F: Face + Clone> Clone for Worker<F> {
    fn clone(&self) -> Worker<F> {
        let Worker { face, plan, terms, cancel_grace, timeout_grace, hooks } = self;
        let (face, plan, terms, hooks) = (face.clone(), plan.clone(), terms.clone(), hooks.clone());
        Worker { face, plan, terms, cancel_grace: *cancel_grace, timeout_grace: *timeout_grace, hooks }
    }
}

impl<F: Face> std::fmt::Debug for Worker<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Worker { terms, plan, .. } = self;
        f.debug_struct("Worker").field("owner", &terms.owner).field("queues", &plan.queues).finish_non_exhaustive()
    }
}
