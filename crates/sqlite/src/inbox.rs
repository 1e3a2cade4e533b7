//! What waits for a database thread: operations, each answered once.
//!
//! Bounded: a caller waits for room before it may put anything in. Two lanes: what keeps leases goes first, so that a
//! flood of new jobs never costs a worker its lease.

use crate::caller::Caller;
use crate::fault::{Done, Fault};
use rusqlite::Connection;
use std::cell::RefCell;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tenure_core::Time;
use tenure_store::{Signals, StoreError};
use tokio::sync::{OwnedSemaphorePermit, Semaphore, oneshot};

/// Operations that may wait in each lane: far more than a group takes, few enough to hold in memory.
const LANE_MAX: usize = 1_024;

/// One operation's view of the database: a connection inside a transaction, and the instant it happens at.
pub(crate) struct Step<'a> {
    pub(crate) conn: &'a Connection,
    /// Read after the transaction began (L5).
    pub(crate) now: Time,
    rung: RefCell<Rung>,
}

/// Whom to wake once an operation is committed.
#[derive(Debug, Default)]
pub(crate) struct Rung {
    queues: Vec<String>,
    all: bool,
}

impl Rung {
    /// These too.
    pub(crate) fn add(&mut self, other: Rung) {
        self.all |= other.all;
        other.queues.into_iter().for_each(|queue| self.queue(queue));
    }

    /// Wakes them.
    pub(crate) fn ring(&self, signals: &Signals) {
        if self.all {
            signals.ring_all();
        } else {
            self.queues.iter().for_each(|queue| signals.ring(queue));
        }
    }

    fn queue(&mut self, queue: impl AsRef<str> + Into<String>) {
        if !self.queues.iter().any(|known| known == queue.as_ref()) {
            self.queues.push(queue.into());
        }
    }
}

impl<'a> Step<'a> {
    pub(crate) fn new(conn: &'a Connection, now: Time) -> Step<'a> {
        Step { conn, now, rung: RefCell::default() }
    }

    /// Once this is committed, `queue` may have work.
    pub(crate) fn ring(&self, queue: &str) {
        self.rung.borrow_mut().queue(queue);
    }

    /// Once this is committed, any queue may have work.
    pub(crate) fn ring_all(&self) {
        self.rung.borrow_mut().all = true;
    }

    /// Whom to wake.
    pub(crate) fn rung(self) -> Rung {
        self.rung.into_inner()
    }
}

/// Which operations are taken first.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Lane {
    /// Heartbeats and starts.
    Urgent,
    /// Everything else.
    Normal,
}

/// One operation.
pub(crate) trait Errand: Send {
    /// Whether nobody waits for the answer any more.
    fn abandoned(&self) -> bool;
    /// Who waits for the answer.
    fn caller(&self) -> Caller;
    /// Roughly how many rows it touches.
    fn weight(&self) -> usize;
    /// Does it. May be asked again if what it did was rolled back.
    fn run(&mut self, step: &Step<'_>) -> Done<()>;
    /// Answers it: with its own answer, or with the fault of the transaction it was part of. What is still to be done
    /// of it comes back.
    fn answer(self: Box<Self>, transaction: Done<()>) -> Option<Box<dyn Errand>>;
}

/// An operation with a typed answer.
struct Task<T, F> {
    work: F,
    weight: usize,
    done: Option<Done<T>>,
    answered: oneshot::Sender<Done<T>>,
    caller: Caller,
    /// Its room in the inbox.
    _room: OwnedSemaphorePermit,
}

impl<T: Send, F: Fn(&Step<'_>) -> Done<T> + Send> Errand for Task<T, F> {
    fn abandoned(&self) -> bool {
        self.answered.is_closed()
    }

    fn caller(&self) -> Caller {
        self.caller
    }

    fn weight(&self) -> usize {
        self.weight
    }

    fn run(&mut self, step: &Step<'_>) -> Done<()> {
        let done = caught(|| (self.work)(step));
        let told = done.as_ref().map(drop).map_err(Clone::clone);
        self.done = Some(done);
        told
    }

    fn answer(self: Box<Self>, transaction: Done<()>) -> Option<Box<dyn Errand>> {
        // An error means that the caller has gone.
        let _ = self.answered.send(outcome(self.done, transaction));
        None
    }
}

/// What an operation came to, whose transaction ended like this.
fn outcome<T>(done: Option<Done<T>>, transaction: Done<()>) -> Done<T> {
    match (done, transaction) {
        (Some(Ok(value)), Ok(())) => Ok(value),
        (Some(Err(fault)), _) | (_, Err(fault)) => Err(fault),
        (None, Ok(())) => Err(Fault::broken("an operation was passed over")),
    }
}

/// What a part of an operation came to.
pub(crate) enum Part<S, T> {
    /// The next goes on from here, in a transaction of its own.
    More(S),
    /// It was the last.
    Last(T),
}

/// An operation too large for one transaction: others come between its parts. Once begun it goes on to its end, whether
/// or not the caller still waits.
struct InParts<S, T, F> {
    work: F,
    /// Where to go on after a fault, if something must be undone.
    undo: fn(&S) -> Option<S>,
    weight: usize,
    stage: S,
    done: Option<Done<Part<S, T>>>,
    /// `None` once it was answered and is being undone.
    answered: Option<oneshot::Sender<Done<T>>>,
    caller: Caller,
    begun: bool,
    _room: OwnedSemaphorePermit,
}

impl<S: Send + 'static, T: Send + 'static, F> Errand for InParts<S, T, F>
where
    F: Fn(&Step<'_>, &S) -> Done<Part<S, T>> + Send + 'static,
{
    fn abandoned(&self) -> bool {
        !self.begun && self.answered.as_ref().is_some_and(oneshot::Sender::is_closed)
    }

    fn caller(&self) -> Caller {
        self.caller
    }

    fn weight(&self) -> usize {
        self.weight
    }

    fn run(&mut self, step: &Step<'_>) -> Done<()> {
        let done = caught(|| (self.work)(step, &self.stage));
        let told = done.as_ref().map(drop).map_err(Clone::clone);
        self.done = Some(done);
        told
    }

    fn answer(mut self: Box<Self>, transaction: Done<()>) -> Option<Box<dyn Errand>> {
        self.begun = true;
        let answer = match outcome(self.done.take(), transaction) {
            Ok(Part::More(stage)) => {
                self.stage = stage;
                return Some(self);
            }
            Ok(Part::Last(value)) => Ok(value),
            Err(fault) => Err(fault),
        };
        let answered = self.answered.take()?;
        let undo = answer.as_ref().err().and_then(|_| (self.undo)(&self.stage));
        let _ = answered.send(answer);
        self.stage = undo?;
        Some(self)
    }
}

/// Does `work`. A broken invariant fails the one operation that met it; its writes are rolled back like any other error's.
fn caught<T>(work: impl FnOnce() -> Done<T>) -> Done<T> {
    catch_unwind(AssertUnwindSafe(work))
        .unwrap_or_else(|_| Err(Fault::broken("an operation broke an invariant; see the log for its panic")))
}

/// The operations that wait.
pub(crate) struct Inbox {
    waiting: Mutex<Waiting>,
    arrived: Condvar,
    room: [Arc<Semaphore>; 2],
}

#[derive(Default)]
struct Waiting {
    lanes: [VecDeque<Box<dyn Errand>>; 2],
    closed: bool,
}

impl Inbox {
    pub(crate) fn new() -> Inbox {
        let room = || Arc::new(Semaphore::new(LANE_MAX));
        Inbox { waiting: Mutex::default(), arrived: Condvar::new(), room: [room(), room()] }
    }

    /// Has `work` done by the thread behind this inbox, and waits for its answer.
    pub(crate) async fn ask<T: Send + 'static>(
        &self,
        lane: Lane,
        weight: usize,
        work: impl Fn(&Step<'_>) -> Done<T> + Send + 'static,
    ) -> Result<T, StoreError> {
        let task = |answered, caller, room| -> Box<dyn Errand> {
            Box::new(Task { work, weight: weight.max(1), done: None, answered, caller, _room: room })
        };
        self.put(lane, task).await
    }

    /// Has `work` done in parts, from `stage` on, each in a transaction of its own with others in between, and waits for
    /// the answer of the last. After a fault it goes on from where `undo` says.
    pub(crate) async fn ask_in_parts<S: Send + 'static, T: Send + 'static>(
        &self,
        weight: usize,
        stage: S,
        undo: fn(&S) -> Option<S>,
        work: impl Fn(&Step<'_>, &S) -> Done<Part<S, T>> + Send + 'static,
    ) -> Result<T, StoreError> {
        let task = |answered, caller, room| -> Box<dyn Errand> {
            let (weight, answered) = (weight.max(1), Some(answered));
            Box::new(InParts { work, undo, weight, stage, done: None, answered, caller, begun: false, _room: room })
        };
        self.put(Lane::Normal, task).await
    }

    async fn put<T: Send + 'static>(
        &self,
        lane: Lane,
        task: impl FnOnce(oneshot::Sender<Done<T>>, Caller, OwnedSemaphorePermit) -> Box<dyn Errand>,
    ) -> Result<T, StoreError> {
        let room = Arc::clone(&self.room[lane as usize]);
        let room = room.acquire_owned().await.map_err(|_| stopped())?;
        let (answered, answer) = oneshot::channel();
        let task = task(answered, Caller::current(), room);
        {
            let mut waiting = self.locked();
            if waiting.closed {
                return Err(stopped());
            }
            waiting.lanes[lane as usize].push_back(task);
        }
        self.arrived.notify_one();
        match answer.await {
            Ok(answer) => answer.map_err(StoreError::from),
            Err(_) => Err(StoreError::unknown("the database thread has stopped")),
        }
    }

    /// Takes what waits, urgent operations first, until `weight_max` is reached; waits at most `wait` for the first.
    /// `None` once the inbox is closed and empty.
    pub(crate) fn take(&self, count_max: usize, weight_max: usize, wait: Duration) -> Option<Vec<Box<dyn Errand>>> {
        let empty = |waiting: &mut Waiting| !waiting.closed && waiting.lanes.iter().all(VecDeque::is_empty);
        let waited = self.arrived.wait_timeout_while(self.locked(), wait, empty);
        let mut waiting = waited.unwrap_or_else(PoisonError::into_inner).0;
        let mut taken: Vec<Box<dyn Errand>> = Vec::new();
        let mut weight = 0;
        for lane in &mut waiting.lanes {
            while taken.len() < count_max && weight < weight_max {
                let Some(errand) = lane.pop_front() else { break };
                weight += errand.weight();
                taken.push(errand);
            }
        }
        if taken.is_empty() && waiting.closed { None } else { Some(taken) }
    }

    /// Takes back what is still to be done of an operation, behind what has come meanwhile, even if nothing new comes in
    /// any more.
    pub(crate) fn again(&self, rest: Box<dyn Errand>) {
        self.locked().lanes[Lane::Normal as usize].push_back(rest);
    }

    /// How many operations wait.
    #[cfg(test)]
    pub(crate) fn waiting(&self) -> usize {
        self.locked().lanes.iter().map(VecDeque::len).sum()
    }

    /// Nothing more comes in; what waits is still done.
    pub(crate) fn close(&self) {
        self.locked().closed = true;
        self.arrived.notify_all();
    }

    /// Nothing will be done any more: whoever waits is told.
    pub(crate) fn abandon(&self) {
        let mut waiting = self.locked();
        waiting.closed = true;
        waiting.lanes.iter_mut().for_each(VecDeque::clear);
    }

    fn locked(&self) -> MutexGuard<'_, Waiting> {
        // Nothing that can panic runs under this lock.
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Abandons an inbox when its thread ends, whichever way.
pub(crate) struct Attended(pub(crate) Arc<Inbox>);

impl Drop for Attended {
    fn drop(&mut self) {
        self.0.abandon();
    }
}

fn stopped() -> StoreError {
    StoreError::unavailable("the database thread has stopped")
}
