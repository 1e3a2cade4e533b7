//! For your own tests: an engine in memory, a clock you move, and workers you can kill or freeze at a chosen point of
//! your handler.
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> tenure::Result<()> {
//! use serde::{Deserialize, Serialize};
//! use std::time::Duration;
//! use tenure::prelude::*;
//! use tenure::testing::{Doomed, TestEngine};
//!
//! #[derive(Serialize, Deserialize, Job)]
//! struct Charge {
//!     order: u64,
//! }
//!
//! async fn charge(cx: Context, job: Charge) -> Outcome<u64> {
//!     cx.reached("charged").await; // does nothing in production
//!     Outcome::done(job.order)
//! }
//!
//! let engine = TestEngine::new();
//! engine.enqueue(Charge { order: 7 }).await?;
//! tenure::assert_enqueued!(engine, Charge { order: 7 });
//!
//! // A worker that dies between the charge and the word of it, as by SIGKILL.
//! let doomed = Doomed::new(engine.worker().handle(charge)).kill_at("charged");
//! doomed.drain().await?;
//!
//! // Its lease runs out, and the next worker does the work again: `charge` must be idempotent.
//! engine.advance(Duration::from_secs(30));
//! let report = engine.worker().handle(charge).drain().await?;
//! assert_eq!(report.completed, 1);
//! # Ok(()) }
//! ```

use crate::worker::points::{Fate, Points};
use crate::{Filter, IntoJob, Job, Report, Result, Status, Tenure, Time, Worker, connect};
use serde::Serialize;
use std::future::Future;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;
use tenure_store::Clock;

/// 2026-01-01T00:00:00Z, in microseconds: where a test's clock starts.
const START: Time = Time(1_767_225_600_000_000);
/// The most jobs an assertion looks at.
const LOOKED_AT: u32 = 1_000;

/// An engine in memory, whose clock stands still until it is moved. Everything a [`Tenure`] can do, it can.
#[derive(Clone, Debug)]
pub struct TestEngine {
    tenure: Tenure,
    clock: Clock,
}

impl Default for TestEngine {
    fn default() -> TestEngine {
        TestEngine::new()
    }
}

impl Deref for TestEngine {
    type Target = Tenure;

    fn deref(&self) -> &Tenure {
        &self.tenure
    }
}

impl TestEngine {
    /// A new, empty engine.
    #[must_use]
    pub fn new() -> TestEngine {
        let clock = Clock::manual(START);
        TestEngine { tenure: connect::in_memory(clock.clone()), clock }
    }

    /// Lets time pass: leases run out, delayed work becomes due.
    pub fn advance(&self, span: Duration) {
        let ms = u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        self.clock.set(self.clock.now().plus_ms(ms));
    }

    /// What time it is.
    #[must_use]
    pub fn time(&self) -> Time {
        self.clock.now()
    }

    /// The arguments of the waiting jobs of type `J`, newest first; what [`assert_enqueued!`](crate::assert_enqueued)
    /// looks at.
    pub async fn enqueued<J: Job>(&self) -> Result<Vec<J>> {
        let filter = Filter { kind: Some(J::KIND.to_owned()), status: Some(Status::Queued), ..Filter::default() };
        let jobs = self.tenure.verbs().jobs(filter, None, LOOKED_AT).await?.items;
        Ok(jobs.iter().filter_map(|job| serde_json::from_str(&job.payload).ok()).collect())
    }

    /// Whether a waiting job has these arguments, and the payloads of those of its kind that wait.
    #[doc(hidden)]
    pub async fn find_enqueued<J: Job>(&self, job: J) -> Result<(bool, Vec<String>)> {
        let wanted = job.into_job()?.payload;
        let waiting: Vec<String> =
            self.enqueued::<J>().await?.iter().map(payload).collect::<std::result::Result<_, _>>().unwrap_or_default();
        Ok((waiting.contains(&wanted), waiting))
    }
}

fn payload<J: Serialize>(job: &J) -> std::result::Result<String, serde_json::Error> {
    serde_json::to_string(job)
}

/// Asserts that a job with these arguments waits in a [`TestEngine`]. To be called where `.await` and `?` are allowed.
#[macro_export]
macro_rules! assert_enqueued {
    ($engine:expr, $job:expr $(,)?) => {{
        let (found, waiting) = $engine.find_enqueued($job).await?;
        assert!(found, "no such job waits: {}; of its kind wait {waiting:?}", stringify!($job));
    }};
}

/// A worker with a fate: it is killed or frozen when its handler comes by a point
/// ([`Context::reached`](crate::Context::reached)).
#[derive(Debug)]
pub struct Doomed {
    worker: Worker,
    points: Arc<Points>,
}

impl Doomed {
    /// The worker that will meet its fate.
    #[must_use]
    pub fn new(worker: Worker) -> Doomed {
        let points = Arc::new(Points::default());
        Doomed { worker: worker.with_points(points.clone()), points }
    }

    /// Dies at `point`, as by SIGKILL: nothing more is run, renewed or written.
    #[must_use]
    pub fn kill_at(self, point: &str) -> Doomed {
        self.points.plan(point, Fate::Killed);
        self
    }

    /// Freezes at `point`, as by SIGSTOP: nothing is run, renewed or written until it is [thawed](Strings::thaw).
    #[must_use]
    pub fn freeze_at(self, point: &str) -> Doomed {
        self.points.plan(point, Fate::Frozen);
        self
    }

    /// The strings of this worker, to pull while it works.
    #[must_use]
    pub fn strings(&self) -> Strings {
        Strings { points: self.points.clone() }
    }

    /// Works until nothing is due any more, or until it is killed.
    pub async fn drain(self) -> Result<Report> {
        self.worker.drain().await
    }

    /// Works until `shutdown`, or until it is killed.
    pub async fn run_until(self, shutdown: impl Future<Output = ()>) -> Result<Report> {
        self.worker.run_until(shutdown).await
    }
}

/// What a test holds of a [`Doomed`] worker.
#[derive(Clone, Debug)]
pub struct Strings {
    points: Arc<Points>,
}

impl Strings {
    /// Returns when the worker has come to its point.
    pub async fn reached(&self) {
        self.points.met().await;
    }

    /// A frozen worker goes on, as by SIGCONT.
    pub fn thaw(&self) {
        self.points.thaw();
    }
}
