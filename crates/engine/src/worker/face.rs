//! What the worker asks of a face: how its units are claimed, begun and ended. All else is the same for jobs, stages,
//! segments, chunks and offsets.

use super::context::{Context, Terms};
use super::handler::Task;
use super::outcome::{Outcome, Stop};
use super::parts::Part;
use super::{Report, Worker};
use crate::heart::{Hold, Leases, NOT_KEPT, Span};
use crate::outage::OfStore;
use crate::{Error, Result};
use std::fmt::Debug;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::{Invalid, Token};
use tenure_store::{Fenced, StoreError};

/// Something claimed: a job, a stage or segment, a chunk, an offset.
pub trait Claimed: Leases + Debug + Send + Sync {
    /// The lease it is held under.
    fn key(&self) -> Self::Key;
    /// What it is among all that is held under that lease.
    fn part(&self) -> Self::Part;
    /// The fencing token of the claim.
    fn token(&self) -> Token;
    /// How long one attempt at it may take.
    fn timeout_ms(&self) -> Option<u64> {
        None
    }
    /// The right to it, where the face itself keeps its lease.
    fn hold(&self) -> Option<Arc<Hold>> {
        None
    }
    /// Whose share of the worker it takes, where there are several.
    fn queue(&self) -> &str {
        ""
    }
}

/// A part under a lease. A worker may meet a unit again, under another, while an older handler of it has not ended.
pub(crate) type Id<U> = (<U as Leases>::Part, <U as Leases>::Key);

/// What a claim asks for.
#[derive(Debug, PartialEq, Eq)]
pub struct Ask {
    pub(crate) queues: Vec<String>,
    pub(crate) max: u32,
    /// So many of them begin at once.
    pub(crate) begin: u32,
}

/// What a claim brought.
#[derive(Debug)]
pub struct Offer<U> {
    pub(crate) units: Vec<U>,
    /// When time alone may change the answer.
    pub(crate) again_in: Option<Duration>,
    /// A limit is set somewhere, so that prefetching would take slots from others (Q8).
    pub(crate) limited: bool,
    /// Nothing was there, but others hold what may come back: a worker that ends when all is done stays.
    pub(crate) held: bool,
}

/// A face of the engine.
pub trait Face: Send + Sync + Sized + 'static {
    /// What is claimed.
    type Unit: Claimed;
    /// What a handler that ended well leaves.
    type Done: Send + 'static;
    /// How a claim ends.
    type Act;
    /// An ending write.
    type Ending: Clone + Send + Sync;
    /// The answer to one that was accepted.
    type Ended: Copy + Debug + Send;

    /// What waits for a store that is away, as outages are told of it.
    const CLAIMS: &'static str;

    /// Checks what was set up, before anything is claimed.
    fn prepare(worker: &mut Worker<Self>) -> Result<()>;

    /// The names of the wake-ups that may mean work.
    fn wakes(&self) -> Vec<String>;

    /// How long the lease of a unit runs, and how often it is renewed.
    fn span(&self, unit: &Self::Unit) -> Span;

    /// Claims.
    fn claim(&self, terms: &Terms, ask: Ask) -> impl Future<Output = Result<Offer<Self::Unit>>> + Send;

    /// Whether an error of a claim would be met again, and so ends the worker.
    fn fatal(error: &Error) -> bool {
        error.of_store().is_none()
    }

    /// Commits that the first `count` units of a grant are started; whether it is still held. Only where units are
    /// claimed ahead of free slots.
    fn start(
        &self,
        _: &Terms,
        _key: <Self::Unit as Leases>::Key,
        _count: u32,
    ) -> impl Future<Output = std::result::Result<bool, StoreError>> + Send {
        async { Ok(true) }
    }

    /// What tells the lines of one attempt from those of others in the log.
    fn log_span(cx: &Context<Self::Unit>) -> tracing::Span;

    /// Begins a unit; `None` if nobody here knows it.
    fn begin(self: &Arc<Self>, cx: Context<Self::Unit>) -> Option<Task<Self::Done>>;

    /// What an outcome asks of the store; `None` if the handler wrote its ending itself. Chance is for the wait until the
    /// next attempt.
    fn act(outcome: Outcome<Self::Done>, chance: f64) -> Option<Self::Act>;

    /// What a time that is over asks of the store (Q6).
    fn timed_out(error: String, chance: f64) -> Option<Self::Act> {
        Self::act(Err(Stop::from(error)), chance)
    }

    /// What a lease that could not be kept asks of the store. The attempt counts, as an expiry would: given back, a handler
    /// that keeps its own heartbeats from the store would be begun for ever (L6).
    fn not_kept(chance: f64) -> Option<Self::Act> {
        Self::act(Err(Stop::from(NOT_KEPT)), chance)
    }

    /// The ending write for an act.
    fn ending(
        owner: &str,
        key: <Self::Unit as Leases>::Key,
        part: <Self::Unit as Leases>::Part,
        act: Self::Act,
    ) -> Self::Ending;

    /// Refuses an ending that no store would take, and cuts an error text to what is kept of it.
    fn check(ending: &mut Self::Ending) -> std::result::Result<(), Invalid>;

    /// The act of an ending.
    fn act_of(ending: &mut Self::Ending) -> &mut Self::Act;

    /// Writes endings, each answered on its own.
    fn finish(
        &self,
        terms: &Terms,
        endings: Vec<Self::Ending>,
    ) -> impl Future<Output = std::result::Result<Vec<Fenced<Self::Ended>>, StoreError>> + Send;

    /// Counts an ending that was answered.
    fn count(report: &mut Report, ending: &Self::Ending, answer: &Fenced<Self::Ended>);
}

/// A face whose worker has all its handlers before it runs.
pub trait Standing: Face {
    /// What works beside it, taken out of it: other faces of the same worker.
    fn beside(&mut self) -> Vec<Part> {
        Vec::new()
    }

    /// Whether it has nothing to do of its own.
    fn is_idle(&self) -> bool {
        false
    }

    /// Whether upkeep runs beside the work.
    fn keeps_up(&self) -> bool {
        false
    }
}
