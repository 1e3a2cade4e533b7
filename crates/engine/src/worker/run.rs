//! One unit, from the first line of its handler to its ending.

use super::context::{Context, Terms};
use super::face::{Claimed, Face};
use super::finisher::{DropBox, Due};
use super::handler::Task;
use super::hooks::Hooks;
use super::outcome::{Outcome, Stop};
use crate::clock::Moment;
use crate::heart::{self, Cancelled, Heart};
use std::any::Any;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch;
use tokio::task::JoinError;

/// What all parts of a worker work with.
pub(super) struct Common<F: Face> {
    pub(super) face: Arc<F>,
    pub(super) terms: Arc<Terms>,
    pub(super) hooks: Arc<dyn Hooks<F>>,
    pub(super) heart: Arc<Heart<F::Unit>>,
}

/// What all units of a worker are run with.
pub(super) struct Floor<F: Face> {
    pub(super) common: Arc<Common<F>>,
    /// How long a handler that was told to stop may go on.
    pub(super) cancel_grace: Duration,
    /// How long one may go on whose time is over.
    pub(super) timeout_grace: Duration,
    pub(super) endings: DropBox<F>,
    pub(super) drop_all: watch::Receiver<bool>,
}

/// Drops the handler with the future that waits for it.
struct Guarded<D>(Task<D>);

impl<D> Drop for Guarded<D> {
    fn drop(&mut self) {
        self.0.handle.abort();
    }
}

/// Runs a unit; returns when its slot is free.
pub(super) async fn run<F: Face>(floor: Arc<Floor<F>>, cx: Context<F::Unit>) {
    let began = Moment::now();
    floor.common.hooks.started(&cx);
    let Some(task) = floor.common.face.begin(cx.clone()) else {
        // Claimed by mistake: someone else may know what to do with it.
        return floor.end(&cx, F::act(Err(Stop::Release)), began);
    };
    let mut task = Guarded(task);
    let why = tokio::select! {
        biased;
        ended = &mut task.0.handle => return floor.end(&cx, F::act(told(ended)), began),
        why = stopped(&floor, &cx) => why,
    };
    tracing::info!(unit = ?cx.unit().part(), token = %cx.token(), %why, "a handler was told to stop");
    floor.common.hooks.told_to_stop(&cx, why);
    let act = tokio::select! {
        biased;
        ended = &mut task.0.handle => return floor.end(&cx, floor.stopped_as(why, &cx, told(ended)), began),
        () = floor.patience(&cx, why) => floor.stop(&cx, &mut task, why).await,
    };
    floor.end(&cx, act, began);
    if !task.0.droppable {
        // A thread cannot be dropped: its slot is taken until it ends, whatever it still returns.
        let mut drop_all = floor.drop_all.clone();
        tokio::select! {
            _ = &mut task.0.handle => {}
            _ = drop_all.wait_for(|dropped| *dropped) => {}
        }
    }
}

/// Returns when the handler must stop: somebody told it, or its time is over.
async fn stopped<F: Face>(floor: &Floor<F>, cx: &Context<F::Unit>) -> Cancelled {
    let timeout = async {
        match cx.timeout_ms() {
            Some(ms) => tokio::time::sleep(Duration::from_millis(ms)).await,
            None => std::future::pending().await,
        }
    };
    let mut drop_all = floor.drop_all.clone();
    let why = tokio::select! {
        biased;
        why = cx.hold().stopped() => why,
        () = timeout => Cancelled::TimedOut,
        _ = drop_all.wait_for(|dropped| *dropped) => Cancelled::Shutdown,
    };
    cx.hold().tell(why);
    why
}

impl<F: Face> Floor<F> {
    /// How long a handler may still go on, once told.
    async fn patience(&self, cx: &Context<F::Unit>, why: Cancelled) {
        let span = match why {
            Cancelled::Operator | Cancelled::Shutdown => self.cancel_grace,
            // Until the lease cannot be relied upon any more; a heartbeat that is answered after all moves this.
            Cancelled::LeaseEnding => Moment::now().until(cx.hold().safe_until()),
            Cancelled::TimedOut => self.timeout_grace,
            Cancelled::LeaseLost(_) => Duration::ZERO,
        };
        let mut drop_all = self.drop_all.clone();
        tokio::select! {
            () = tokio::time::sleep(span) => {}
            _ = cx.hold().lost() => {}
            _ = drop_all.wait_for(|dropped| *dropped) => {}
        }
    }

    /// Drops the handler, and says what becomes of its unit.
    async fn stop(&self, cx: &Context<F::Unit>, task: &mut Guarded<F::Done>, why: Cancelled) -> Option<F::Act> {
        task.0.handle.abort();
        if task.0.droppable
            && let Ok(kept) = (&mut task.0.handle).await
        {
            // It ended just before it was dropped.
            return self.stopped_as(why, cx, kept);
        }
        // With the lease gone there is nothing to write; a release is refused, and the refusal is on record (L8).
        if cx.hold().gone() { F::act(Err(Stop::Release)) } else { self.stopped_as(why, cx, Err(Stop::Release)) }
    }

    /// What becomes of a unit whose handler ended after it was told to stop. One whose time was over has failed, whatever
    /// it returned (Q6). One whose lease could not be kept has had its attempt, as an expiry would count it: given back, a
    /// handler that keeps its own heartbeats from the store would be begun for ever (L6).
    fn stopped_as(&self, why: Cancelled, cx: &Context<F::Unit>, outcome: Outcome<F::Done>) -> Option<F::Act> {
        match (why, outcome) {
            (Cancelled::TimedOut, outcome) => {
                let error = match outcome {
                    Err(Stop::Retry { error, .. } | Stop::Fail { why: error } | Stop::Cancel { why: error }) => {
                        format!(": {error}")
                    }
                    _ => String::new(),
                };
                F::timed_out(format!("took longer than {} ms{error}", cx.timeout_ms().unwrap_or(0)))
            }
            (Cancelled::LeaseEnding, Err(Stop::Release)) => F::act(Err(Stop::from(heart::NOT_KEPT))),
            (_, outcome) => F::act(outcome),
        }
    }

    fn end(&self, cx: &Context<F::Unit>, act: Option<F::Act>, began: Moment) {
        let (key, part) = (cx.unit().key(), cx.unit().part());
        let Some(act) = act else { return self.common.heart.ended(key, part) };
        let ending = F::ending(cx.owner(), key.clone(), part.clone(), act);
        let took = began.until(Moment::now());
        self.endings.send(Due { ending, key, part, hold: cx.hold().clone(), cx: Some(cx.clone()), took });
    }
}

fn told<D>(ended: Result<Outcome<D>, JoinError>) -> Outcome<D> {
    ended.unwrap_or_else(|error| {
        Err(Stop::from(match error.try_into_panic() {
            Ok(panic) => format!("the handler panicked: {}", message(panic.as_ref())),
            Err(error) => format!("the handler was dropped: {error}"),
        }))
    })
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a message")
}
