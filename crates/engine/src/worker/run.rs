//! One job, from the first line of its handler to its ending.

use super::context::Context;
use super::finisher::{DropBox, Due};
use super::handler::{Handlers, Kept, Task};
use super::hooks::Hooks;
use super::outcome;
use crate::chance;
use crate::clock::Moment;
use crate::heart::{self, Cancelled};
use std::any::Any;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::queue::{Act, Ending};
use tenure_core::retry::Retry;
use tokio::sync::watch;
use tokio::task::JoinError;

/// What all jobs of a worker are run with.
pub(super) struct Floor {
    pub(super) handlers: Handlers,
    pub(super) hooks: Arc<dyn Hooks>,
    /// How long a handler that was told to stop may go on.
    pub(super) cancel_grace: Duration,
    /// How long one may go on whose time is over.
    pub(super) timeout_grace: Duration,
    pub(super) endings: DropBox,
    pub(super) drop_all: watch::Receiver<bool>,
}

/// Drops the handler with the future that waits for it.
struct Guarded(Task);

impl Drop for Guarded {
    fn drop(&mut self) {
        self.0.handle.abort();
    }
}

/// Runs a job; returns when its slot is free.
pub(super) async fn run(floor: Arc<Floor>, cx: Context) {
    let began = Moment::now();
    floor.hooks.started(&cx);
    let Some(task) = floor.handlers.begin(cx.clone()) else {
        // Claimed by mistake: someone else may know the kind.
        return floor.end(&cx, Some(Act::Release), began);
    };
    let mut task = Guarded(task);
    let why = tokio::select! {
        biased;
        ended = &mut task.0.handle => return floor.end(&cx, Some(told(ended)), began),
        why = stopped(&floor, &cx) => why,
    };
    tracing::info!(job = %cx.id(), token = %cx.token(), %why, "a handler was told to stop");
    floor.hooks.told_to_stop(&cx, why);
    let act = tokio::select! {
        biased;
        ended = &mut task.0.handle => return floor.end(&cx, Some(stopped_as(why, &cx, told(ended))), began),
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
async fn stopped(floor: &Floor, cx: &Context) -> Cancelled {
    let timeout = async {
        match cx.job().timeout_ms {
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

impl Floor {
    /// How long a handler may still go on, once told.
    async fn patience(&self, cx: &Context, why: Cancelled) {
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

    /// Drops the handler, and says what becomes of its job.
    async fn stop(&self, cx: &Context, task: &mut Guarded, why: Cancelled) -> Option<Act> {
        task.0.handle.abort();
        if task.0.droppable
            && let Ok(kept) = (&mut task.0.handle).await
        {
            // It ended just before it was dropped.
            return Some(stopped_as(why, cx, told(Ok(kept))));
        }
        match why {
            _ if cx.hold().gone() => None,
            Cancelled::TimedOut => Some(timed_out(cx, None)),
            Cancelled::LeaseEnding => Some(not_kept()),
            _ => Some(Act::Release),
        }
    }

    fn end(&self, cx: &Context, act: Option<Act>, began: Moment) {
        let took = began.until(Moment::now());
        // With the lease gone there is nothing to write; a release is refused, and the refusal is on record (L8).
        let ending =
            Ending { job: cx.id(), owner: cx.owner().to_owned(), token: cx.token(), act: act.unwrap_or(Act::Release) };
        let due = Due { ending, hold: cx.hold().clone(), cx: Some(cx.clone()), took };
        self.endings.send(due);
    }
}

/// What becomes of a job whose handler ended by itself after it was told to stop. One whose time was over has failed,
/// whatever it returned (Q6); one whose lease could not be kept has had its attempt (L6).
fn stopped_as(why: Cancelled, cx: &Context, act: Act) -> Act {
    match (why, act) {
        (Cancelled::TimedOut, Act::Fail { error, .. }) => timed_out(cx, Some(&error)),
        (Cancelled::TimedOut, _) => timed_out(cx, None),
        (Cancelled::LeaseEnding, Act::Release) => not_kept(),
        (_, act) => act,
    }
}

fn timed_out(cx: &Context, error: Option<&str>) -> Act {
    let error = error.map_or(String::new(), |error| format!(": {error}"));
    let error = format!("took longer than {} ms{error}", cx.job().timeout_ms.unwrap_or(0));
    Act::Fail { error, retry: Retry::TimedOut { chance: chance::signed_unit() } }
}

/// The end of an attempt whose lease could not be kept. It counts, as an expiry would: given back, a handler that keeps
/// its own heartbeats from the store would be begun for ever (L6).
fn not_kept() -> Act {
    Act::Fail { error: heart::NOT_KEPT.to_owned(), retry: chance::by_policy() }
}

fn told(ended: Result<Kept, JoinError>) -> Act {
    match ended {
        Ok(Ok(result)) => Act::Complete { result },
        Ok(Err(stop)) => outcome::act(stop, chance::signed_unit()),
        Err(error) => {
            let error = match error.try_into_panic() {
                Ok(panic) => format!("the handler panicked: {}", message(panic.as_ref())),
                Err(error) => format!("the handler was dropped: {error}"),
            };
            Act::Fail { error, retry: Retry::Policy { chance: chance::signed_unit() } }
        }
    }
}

fn message(panic: &(dyn Any + Send)) -> &str {
    let text = panic.downcast_ref::<&str>().copied();
    text.or_else(|| panic.downcast_ref::<String>().map(String::as_str)).unwrap_or("without a message")
}
