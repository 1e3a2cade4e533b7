//! Durable work, held under lease.
//!
//! A [`Tenure`] is an open store: an SQLite file, a PostgreSQL shared by many machines, or the memory of this process.
//! Work in it is held under a lease `(owner, token, expires_at)`, and nothing that matters is written except under
//! the lease that is current.
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
//!     cx.progress("decoding").await?; // `?` on any error means: try again
//!     Outcome::done(format!("images/{}.webp", job.asset))
//! }
//!
//! let tenure = Tenure::open("memory:").await?; // or sqlite:app.db, or postgres://…
//! let id = tenure.enqueue(Resize { asset: 42 }).key("asset-42").await?.id;
//!
//! tenure.worker().concurrency(16).handle(resize).drain().await?; // in a service: run_until_signalled()
//! assert_eq!(tenure.job(id).wait::<String>().await?, "images/42.webp");
//! # Ok(()) }
//! ```
//!
//! A job that its worker loses (killed, frozen, cut off) is given to another when its lease runs out; whatever the first
//! one still writes is refused. The same holds for all four faces:
//!
//! - **[Queue](queue)**: jobs by priority and age, with retries, dedup keys, lanes, rate limits and a global limit.
//!   [`Tenure::enqueue`] adds, also in [a transaction of your own](queue::Enqueue::in_tx); [`Tenure::queue`] and
//!   [`Tenure::job`] are handles to look and to operate.
//! - **[Pipelines](pipeline)**: runs made of stages that need each other, split into segments, with artifacts that are made
//!   once. [`Tenure::apply`] a definition, [start](pipeline::PipelineHandle::start) runs.
//! - **[Syncs](sync)**: a long copy cut into chunks, resumed where it stopped. [`Tenure::matrix`] plans a pass.
//! - **[Domains](domain)**: for each key one offset after the other, in order, under a fencing token. [`Tenure::domain`].
//!
//! [Schedules](schedule) enqueue by the clock, [`testing`] kills and freezes workers in your own tests, and
//! [`Tenure::verbs`] has every verb as plain data.

mod chance;
mod clock;
mod connect;
mod doctor;
pub mod domain;
mod error;
mod heart;
mod held;
mod outage;
pub mod pipeline;
pub mod queue;
mod rest;
pub mod schedule;
mod signals;
mod surroundings;
pub mod sync;
pub mod testing;
mod transaction;
pub mod upkeep;
mod verbs;
mod worker;

use outage::Outage;
use std::sync::Arc;
use surroundings::Surroundings;
use tenure_store::Store;

pub use chance::by_policy;
pub use clock::Moment;
pub use connect::Open;
/// The drivers, of the versions whose transactions [`in_tx`](queue::Enqueue::in_tx) and its siblings take.
#[cfg(feature = "sqlite")]
pub use connect::rusqlite;
/// The driver of PostgreSQL, likewise.
#[cfg(feature = "postgres")]
pub use connect::tokio_postgres;
pub use error::{Error, KeyHolder, Refused};
pub use held::{Held, NotEnded};
pub use queue::{Bulk, BulkStep, IntoJob, Job};
pub use tenure_core::Explanation;
pub use tenure_core::Page;
pub use tenure_core::Why;
pub use tenure_core::lease::Lease;
pub use tenure_core::queue::{
    Act, Action, Attempt, Beat, Beaten, Change, Claim, ClaimedJob, Claims, Conflict, Counts, Ended, Ending, Enqueued,
    Event, Filter, Grants, Idle, Job as JobInfo, JobId, LaneOnFailure, NewJob, Operation, Outcome as AttemptOutcome,
    Pruned, QueueInfo, Rate, Reason, Recovered, Refusal, Settings, Sighting, Start, Status, Verb, What,
    Worker as WorkerInfo,
};
pub use tenure_core::retry::Backoff;
pub use tenure_core::retry::Retry;
pub use tenure_core::{
    Actor, Epoch, Invalid, InvalidId, InvalidTime, LostReason, Time, Token, bounds, changes, serial,
};
pub use tenure_derive::Job;
pub use tenure_store::{Address, Clock, Finding, Level, Outcome as StoreOutcome, Place, StoreError, TransactionError};
pub use transaction::CallerTransaction;
pub use verbs::Verbs;
pub use worker::{
    Cancelled, Context, Face, Hooks, Jobs, Outcome, Outcomes, QueueShare, Report, Stop, Worker, worker_name,
};

/// What most programs use: `use tenure::prelude::*`.
pub mod prelude {
    pub use crate::{Context, Job, Outcome, Outcomes, Tenure};
}

/// The answer of every call.
pub type Result<T> = std::result::Result<T, Error>;

/// An open store. Cheap to clone; every clone is the same store.
#[derive(Clone)]
pub struct Tenure {
    store: Arc<dyn Store>,
    /// Where it was opened, to open it again for heartbeats.
    url: Option<Arc<str>>,
    outage: Arc<Outage>,
    around: Surroundings,
}

impl Tenure {
    /// Opens the store at `url`: `sqlite:tenure.db`, `sqlite::memory:`, `postgres://…` or `memory:`.
    ///
    /// An empty store gets its schema, unless [`Open::create`] says otherwise. An SQLite file of an older Tenure is
    /// upgraded; an older PostgreSQL schema is refused until `tenure migrate` was run; a newer one is refused by name.
    pub fn open(url: &str) -> Open {
        Open::new(url)
    }

    /// Brings the store at `url` to the schema of this version, and answers its number. `None`: such a store has no
    /// schema to speak of, or upgrades itself whenever it is opened, as it was now.
    pub async fn migrate(url: &str) -> Result<Option<i64>> {
        Ok(connect::migrate(url).await?)
    }

    /// The statements that set up roles with no more rights than they need in the database of the store at `url`, to
    /// be run there by an administrator after every migration. `None`: such a store has no roles.
    pub fn roles(url: &str) -> Result<Option<String>> {
        Ok(connect::roles(url)?)
    }

    /// A Tenure on a store that the caller opened.
    pub fn on(store: impl Store) -> Tenure {
        Tenure::within(store, Surroundings::default())
    }

    /// The same, somewhere else than on this machine.
    pub(crate) fn within(store: impl Store, around: Surroundings) -> Tenure {
        let outage = Arc::new(Outage::within(around.clone()));
        Tenure { store: store.acting_as(program()), url: None, outage, around }
    }

    /// The same store for whoever acts under this name: what is cancelled, retried, paused, set or removed through the
    /// handle that is returned names it in its event (L8). Until then it is `lib:` and the name of the program.
    ///
    /// ```
    /// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure::Error> {
    /// use tenure::{Actor, Tenure};
    ///
    /// let tenure = Tenure::open("memory:").await?;
    /// let ann = tenure.acting_as(Actor::new("ann@example.com")?);
    /// ann.queue("images").pause().await?;
    ///
    /// let changes = tenure.queue("images").changes().await?;
    /// assert_eq!(changes[0].message(), "ann@example.com changed paused from false to true");
    /// # Ok(()) }
    /// ```
    #[must_use]
    pub fn acting_as(&self, actor: Actor) -> Tenure {
        Tenure { store: self.store.acting_as(actor), ..self.clone() }
    }

    /// How to open the same store apart from this handle, so that whoever takes all connections of this one does not
    /// hold up a heartbeat (A10). A store that the caller opened is shared.
    fn apart(&self) -> heart::Opening {
        let (store, url, outage) = (self.store.clone(), self.url.clone(), self.outage.clone());
        Box::new(move || Box::pin(async move { Ok((connect::apart(store, url.as_deref())?, outage)) }))
    }

    /// The store's clock: the only one that judges leases (L5).
    pub async fn now(&self) -> Result<Time> {
        Ok(self.store.now().await?)
    }

    /// Whether a write would be accepted now, found out by one that is taken back.
    pub async fn ready(&self) -> Result<()> {
        Ok(self.store.ready().await?)
    }

    /// How often the counter of tokens was moved ahead, and to where the last time (L2).
    pub async fn epoch(&self) -> Result<Epoch> {
        Ok(self.store.epoch().await?)
    }

    /// Raises the epoch, so that every later token outranks every earlier one. For a store that was restored from a
    /// copy without noticing, such as an SQLite file put back from a backup.
    pub async fn new_epoch(&self) -> Result<Epoch> {
        Ok(self.store.new_epoch().await?)
    }

    /// Sends what is still to be told to other processes, and lets go of the store; it is closed with its last clone.
    /// A process that ends without it loses nothing but a wake-up: others find its jobs by looking, within a second.
    pub async fn close(self) -> Result<()> {
        Ok(self.store.flush().await?)
    }

    /// What this store is and how durable, in one line for people.
    pub async fn describe(&self) -> Result<String> {
        Ok(self.store.describe().await?)
    }
}

/// Who acts that did not say who it is: this program.
fn program() -> Actor {
    let program = std::env::current_exe().ok();
    let name = program.as_deref().and_then(std::path::Path::file_name).unwrap_or_default();
    Actor::of(format_args!("lib:{}", name.to_string_lossy()))
}

impl std::fmt::Debug for Tenure {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Tenure")
    }
}
