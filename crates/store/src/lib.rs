//! What a backend of Tenure must do.
//!
//! A backend implements all of [`Store`] or does not exist. Every method is one transaction on the store's own clock
//! (L5): it happens whole or not at all, and a write to leased work counts only under the lease that is current (L3).
//! What the answers must be is decided by [`tenure_core`]; the suite in `conformance`, behind the feature of that name,
//! holds every backend to it.
//!
//! Requests reach a backend checked (`NewJob::check` and its siblings): a backend may rely on their bounds.

mod address;
mod clock;
#[cfg(feature = "conformance")]
pub mod conformance;
mod domain;
mod error;
mod pipeline;
mod schedule;
mod sightings;
mod sync;
mod transaction;
mod wake;

use async_trait::async_trait;
use std::sync::Arc;
use tenure_core::Page;
use tenure_core::changes::{Changed, Subject};
use tenure_core::queue::{
    Beat, Beaten, Change, Claim, Claims, Conflict, Ended, Ending, Enqueued, Event, Filter, Job, JobId, NewJob,
    Operation, Pruned, QueueInfo, Recovered, Refusal, Situation, Start, Status, Worker,
};
use tenure_core::{Actor, Epoch, LostReason, Time};

pub use address::{Address, ServerAddress};
pub use clock::Clock;
pub use domain::DomainStore;
pub use error::{Outcome, StoreError};
pub use pipeline::{PipelineStore, WAKE_ORCHESTRATOR, wake_of_pipeline};
pub use schedule::ScheduleStore;
pub use sightings::Sightings;
pub use sync::{OrRefused, SyncStore};
pub use tenure_core::{Finding, Level};
pub use transaction::{Place, TransactionError};
pub use wake::{Listener, Signals};

/// The answer of a store: [`StoreError`] is the world's fault, never the caller's.
pub type Result<T> = std::result::Result<T, StoreError>;

/// A write to leased work, answered on its own: refused with the reason the lease is lost (L3).
pub type Fenced<T> = std::result::Result<T, LostReason>;

/// A backend: the verbs of each face, their lists, and the upkeep that keeps it moving.
#[async_trait]
pub trait Store: QueueStore + ScheduleStore + DomainStore + SyncStore + PipelineStore + Upkeep {}

impl<S: QueueStore + ScheduleStore + DomainStore + SyncStore + PipelineStore + Upkeep> Store for S {}

/// The work queue.
#[async_trait]
pub trait QueueStore: Send + Sync + 'static {
    /// Adds jobs, all or none, in this order. A job whose dedup key is remembered is answered with the job it stands
    /// for; another body under that key refuses the whole call (Q7).
    async fn enqueue(&self, jobs: Vec<NewJob>) -> Result<std::result::Result<Vec<Enqueued>, Conflict>>;

    /// Takes jobs that are due (Q2), after returning those whose lease ran out in these queues (L7). Never answers
    /// "empty" from a cursor or hint. Every claim is a sighting of its worker in
    /// the queues that there are ([`worker`](tenure_core::queue::worker)); one that cannot be written never fails or delays the claim.
    async fn claim(&self, claim: Claim) -> Result<Claims>;

    /// Marks the first jobs of a shared lease as started (L6).
    async fn start(&self, start: Start) -> Result<Fenced<()>>;

    /// Renews leases (Q3), each answered on its own, in this order.
    async fn heartbeat(&self, beats: Vec<Beat>) -> Result<Vec<Fenced<Beaten>>>;

    /// Ends claims (Q4), each answered on its own, in this order.
    async fn finish(&self, endings: Vec<Ending>) -> Result<Vec<Fenced<Ended>>>;

    /// One job, finished or not, as long as it is kept.
    async fn job(&self, id: JobId) -> Result<Option<Job>>;

    /// The events stored for a job, oldest first (L8).
    async fn events(&self, id: JobId) -> Result<Vec<Event>>;

    /// Jobs that match, newest first, from below `before`.
    async fn jobs(&self, filter: Filter, before: Option<JobId>, limit: u32) -> Result<Page<Job>>;

    /// One queue, if it was ever used.
    async fn queue(&self, name: &str) -> Result<Option<QueueInfo>>;

    /// Queues by name, from after `after`.
    async fn queues(&self, after: Option<&str>, limit: u32) -> Result<Page<QueueInfo>>;

    /// Changes a queue's settings; a queue that is not there yet is created. Binds claims that begin after it (Q8).
    async fn change(&self, name: &str, change: Change) -> Result<QueueInfo>;

    /// The engine's W (Q8).
    async fn limit(&self) -> Result<Option<u32>>;

    /// Sets the engine's W.
    async fn set_limit(&self, max_running: Option<u32>) -> Result<()>;

    /// Carries out operator actions (L9, L11), each answered on its own, in this order.
    async fn operate(&self, operations: Vec<Operation>) -> Result<Vec<std::result::Result<Status, Refusal>>>;

    /// Workers by name, from after `after`: who was seen in the last day, where, and what it holds.
    async fn workers(&self, after: Option<&str>, limit: u32) -> Result<Page<Worker>>;

    /// What bears on whether a job can run, in a few cheap reads.
    async fn situation(&self, id: JobId) -> Result<Option<Situation>>;

    /// Hints that work may have become claimable. With all of them dropped the system is slower, not wrong.
    fn signals(&self) -> &Signals;
}

/// What keeps a store healthy. Safe on any number of machines at once.
#[async_trait]
pub trait Upkeep: Send + Sync + 'static {
    /// The store's clock.
    async fn now(&self) -> Result<Time>;

    /// Returns the work of leases that ran out, at most `leases_max` of them (L7). Skips what another is busy with,
    /// and a unit that cannot be returned never stops the others.
    async fn recover(&self, leases_max: u32) -> Result<Recovered>;

    /// Removes what is no longer kept, at most `max` of each kind (I19).
    async fn prune(&self, max: u32) -> Result<Pruned>;

    /// The epoch of the tokens drawn from now on (L2).
    async fn epoch(&self) -> Result<Epoch>;

    /// Raises the epoch by hand, after a restore the store cannot notice by itself.
    async fn new_epoch(&self) -> Result<Epoch>;

    /// The same store for whoever acts under this name: operators' acts through the handle that is returned name it in
    /// their events (L8). A handle that was never told is [`Actor::default`]'s.
    fn acting_as(&self, actor: Actor) -> Arc<dyn Store>;

    /// What was changed about a queue, a schedule, a domain, a pipeline or the store, oldest first (L8).
    async fn changes(&self, subject: Subject) -> Result<Vec<Changed>>;

    /// Where the work is kept, for a transaction of the caller's own (Q10).
    fn place(&self) -> Place;

    /// What this store is and how durable, in one line for people.
    async fn describe(&self) -> Result<String>;

    /// Looks at everything that could hurt: durability, room, whoever holds things up.
    async fn examine(&self) -> Result<Vec<Finding>>;

    /// Whether a write would be accepted now, found out by one that is taken back. Nothing is changed.
    async fn ready(&self) -> Result<()>;

    /// Tells other processes what they would be told soon, before this one ends. What is not flushed is only found
    /// later, by looking.
    async fn flush(&self) -> Result<()>;
}
