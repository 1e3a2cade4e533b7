//! What a handler is given beside its arguments: who it is, how long it may go on, and where to leave word.

use super::face::Claimed;
use super::points::Points;
use crate::heart::{Cancelled, Hold};
use crate::queue::to_json;
use crate::surroundings::Surroundings;
use crate::{CallerTransaction, Result, Tenure};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use tenure_core::queue::{Beat, ClaimedJob, JobId};
use tenure_core::{Invalid, Token, bounds};

/// Values that handlers share, one for each type.
pub(crate) type Shared = HashMap<TypeId, Arc<dyn Any + Send + Sync>>;

/// What all attempts of a worker share.
#[derive(Clone)]
pub struct Terms {
    pub(crate) tenure: Tenure,
    pub(crate) owner: String,
    /// How long an attempt may take at a unit that says nothing about it itself.
    pub(crate) timeout_ms: Option<u64>,
    pub(crate) shared: Arc<Shared>,
    pub(crate) points: Option<Arc<Points>>,
}

impl Terms {
    pub(crate) fn around(&self) -> &Surroundings {
        &self.tenure.around
    }

    /// Returns while the worker lives, as a test has it.
    pub(crate) async fn living(&self) {
        if let Some(points) = &self.points {
            points.living().await;
        }
    }
}

/// One attempt at one unit, by default a job, in the hands of its handler. Cheap to clone.
pub struct Context<U = ClaimedJob> {
    attempt: Arc<Running<U>>,
}

/// What all clones of a context share.
struct Running<U> {
    unit: U,
    hold: Arc<Hold>,
    terms: Arc<Terms>,
}

impl<U> Clone for Context<U> {
    fn clone(&self) -> Context<U> {
        Context { attempt: self.attempt.clone() }
    }
}

impl<U: Claimed> Context<U> {
    pub(crate) fn new(unit: U, hold: Arc<Hold>, terms: Arc<Terms>) -> Context<U> {
        Context { attempt: Arc::new(Running { unit, hold, terms }) }
    }

    /// Everything that was claimed.
    #[must_use]
    pub fn unit(&self) -> &U {
        &self.attempt.unit
    }

    /// The fencing token of this claim: it only grows, so a database that keeps the last one it saw can refuse an
    /// older writer (L2).
    #[must_use]
    pub fn token(&self) -> Token {
        self.attempt.unit.token()
    }

    /// The name under which the lease is held.
    #[must_use]
    pub fn owner(&self) -> &str {
        &self.attempt.terms.owner
    }

    /// The store this unit came from.
    #[must_use]
    pub fn tenure(&self) -> &Tenure {
        &self.attempt.terms.tenure
    }

    /// Returns when the handler must stop, with the reason. A handler that has something to put away selects on this;
    /// one that does not is dropped soon after.
    pub async fn cancelled(&self) -> Cancelled {
        self.attempt.hold.stopped().await
    }

    /// Why the handler must stop, if it must; for code that does not await. After a suspend it knows at once that its
    /// time is over: ask before an effect that cannot be taken back.
    #[must_use]
    pub fn is_cancelled(&self) -> Option<Cancelled> {
        self.attempt.hold.told()
    }

    /// Until when the work is certainly this worker's, by this machine's own clock (L5); every heartbeat that is
    /// answered moves it. For what works on the handler's behalf where a [`Cancelled`] cannot reach it, such as a
    /// process.
    #[must_use]
    pub fn safe_until(&self) -> crate::Moment {
        self.attempt.hold.safe_until()
    }

    /// What was given to the worker by [`state`](super::Worker::state).
    ///
    /// # Panics
    /// If no value of this type was given: the attempt then fails and says so.
    #[must_use]
    pub fn state<T: Send + Sync + 'static>(&self) -> &T {
        let value = self.attempt.terms.shared.get(&TypeId::of::<T>()).and_then(|value| value.downcast_ref());
        value.unwrap_or_else(|| panic!("the worker was given no state of type {}", type_name::<T>()))
    }

    /// Marks a point of the handler by name. In production it does nothing; a test can kill or pause a worker here
    /// ([`testing`](crate::testing)).
    pub async fn reached(&self, point: &str) {
        if let Some(points) = &self.attempt.terms.points {
            points.reached(point).await;
        }
    }

    pub(crate) fn timeout_ms(&self) -> Option<u64> {
        self.attempt.unit.timeout_ms().or(self.attempt.terms.timeout_ms)
    }

    pub(crate) fn around(&self) -> &Surroundings {
        self.attempt.terms.around()
    }

    pub(crate) fn hold(&self) -> &Arc<Hold> {
        &self.attempt.hold
    }
}

impl Context {
    /// The job.
    #[must_use]
    pub fn id(&self) -> JobId {
        self.attempt.unit.id
    }

    /// Everything that was claimed: queue, kind, payload, times.
    #[must_use]
    pub fn job(&self) -> &ClaimedJob {
        &self.attempt.unit
    }

    /// Which attempt this is, from 1.
    #[must_use]
    pub fn attempt(&self) -> u32 {
        self.attempt.unit.attempt
    }

    /// Saves where this attempt has got to. It has been committed when this returns, and comes back to the next
    /// attempt, whichever worker has it, by [`last_checkpoint`](Context::last_checkpoint).
    pub async fn checkpoint<T: Serialize + ?Sized>(&self, state: &T) -> Result<()> {
        let beat = self.beat().checkpoint(to_json("checkpoint", state)?);
        self.send(beat).await
    }

    /// What the last attempt saved, if it saved anything.
    pub fn last_checkpoint<T: DeserializeOwned>(&self) -> Result<Option<T>> {
        let Some(text) = &self.attempt.unit.checkpoint else { return Ok(None) };
        serde_json::from_str(text).map(Some).map_err(|error| {
            let limit = format!("a checkpoint that reads as {}", type_name::<T>());
            Invalid::new(bounds::Code::JsonSyntax, "checkpoint", limit, error).into()
        })
    }

    /// Tells people how far the work is.
    pub async fn progress<T: Serialize + ?Sized>(&self, progress: &T) -> Result<()> {
        let beat = self.beat().progress(to_json("progress", progress)?);
        self.send(beat).await
    }

    /// Completes this job in the handler's own transaction: the effect and the word of it are one commit, or neither.
    /// The lease is checked there, so a handler that was overtaken commits nothing. Return `Outcome::done` with the
    /// same result afterwards; it is answered from the receipt (L12).
    pub async fn complete_in<T: CallerTransaction, R: Serialize + ?Sized>(&self, tx: &mut T, result: &R) -> Result<()> {
        let result = Some(to_json("result", result)?).filter(|json| json != "null");
        self.tenure().verbs().complete_in(tx, self.id(), self.owner(), self.token(), result).await?;
        Ok(())
    }

    /// Makes the handler's own transaction fenced: it is refused unless the lease is held now, and nobody is given the
    /// job before it ends (Q10).
    pub async fn held_in<T: CallerTransaction>(&self, tx: &mut T) -> Result<()> {
        self.tenure().verbs().held_in(tx, self.id(), self.owner(), self.token()).await
    }

    fn beat(&self) -> Beat {
        Beat::new(self.id(), self.owner(), self.token())
    }

    async fn send(&self, beat: Beat) -> Result<()> {
        let beaten = self.tenure().verbs().heartbeat(beat).await?;
        if beaten.cancel_requested.contains(&self.id()) {
            self.attempt.hold.tell(Cancelled::Operator);
        }
        Ok(())
    }
}

impl<U: Claimed> fmt::Debug for Context<U> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Context({:?} under {:?})", self.unit().part(), self.unit().key())
    }
}
