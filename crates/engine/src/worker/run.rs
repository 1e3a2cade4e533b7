//! One unit, from the first line of its handler to its ending.

use super::context::{Context, Terms};
use super::face::{Claimed, Face};
use super::finisher::{DropBox, Due};
use super::handler::Task;
use super::hooks::Hooks;
use super::outcome::{Outcome, Stop};
use crate::clock::Moment;
use crate::heart::{Cancelled, Heart, Leases};
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
    /// Keeps what is claimed, unless the face does.
    pub(super) heart: Option<Arc<Heart<F::Unit>>>,
}

impl<F: Face> Common<F> {
    /// A unit has ended, and with it the right to it.
    pub(super) fn ended(&self, key: <F::Unit as Leases>::Key, part: <F::Unit as Leases>::Part) {
        if let Some(heart) = &self.heart {
            heart.ended(key, part);
        }
    }
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
    let began = cx.around().now();
    floor.common.hooks.started(&cx);
    let Some(task) = floor.common.face.begin(cx.clone()) else {
        // Claimed by mistake: someone else may know what to do with it.
        return floor.end(&cx, F::act(Err(Stop::Release), 0.0), began);
    };
    let mut task = Guarded(task);
    let why = tokio::select! {
        biased;
        ended = &mut task.0.handle => return floor.end(&cx, F::act(told(ended), cx.around().chance()), began),
        why = stopped(&floor, &cx) => why,
    };
    tracing::info!(unit = ?cx.unit().part(), lease = ?cx.unit().key(), %why, "a handler was told to stop");
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
            // Until the lease cannot be relied upon any more; a heartbeat that is answered after all moves this, but no
            // further than a time that it has.
            Cancelled::LeaseEnding => cx.timeout_ms().map_or(Duration::MAX, Duration::from_millis),
            Cancelled::TimedOut => self.timeout_grace,
            Cancelled::LeaseLost(_) => Duration::ZERO,
        };
        let mut drop_all = self.drop_all.clone();
        tokio::select! {
            () = tokio::time::sleep(span) => {}
            _ = cx.hold().over() => {}
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
        if cx.hold().gone() { F::act(Err(Stop::Release), 0.0) } else { self.stopped_as(why, cx, Err(Stop::Release)) }
    }

    /// What becomes of a unit whose handler ended after it was told to stop. One whose time was over has failed, whatever
    /// it returned (Q6).
    fn stopped_as(&self, why: Cancelled, cx: &Context<F::Unit>, outcome: Outcome<F::Done>) -> Option<F::Act> {
        let chance = cx.around().chance();
        match (why, outcome) {
            (Cancelled::TimedOut, outcome) => {
                let error = match outcome {
                    Err(Stop::Retry { error, .. } | Stop::Fail { why: error } | Stop::Cancel { why: error }) => {
                        format!(": {error}")
                    }
                    _ => String::new(),
                };
                F::timed_out(format!("took longer than {} ms{error}", cx.timeout_ms().unwrap_or(0)), chance)
            }
            (Cancelled::LeaseEnding, Err(Stop::Release)) => F::not_kept(chance),
            (_, outcome) => F::act(outcome, chance),
        }
    }

    fn end(&self, cx: &Context<F::Unit>, act: Option<F::Act>, began: Moment) {
        let (key, part) = (cx.unit().key(), cx.unit().part());
        let Some(act) = act else { return self.common.ended(key, part) };
        let ending = F::ending(cx.owner(), key.clone(), part.clone(), act);
        let took = began.until(cx.around().now());
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

#[cfg(test)]
mod tests {
    use super::super::finisher::Finisher;
    use super::super::hooks::Unwatched;
    use super::super::jobs::Jobs;
    use super::*;
    use crate::Tenure;
    use crate::heart::Hold;
    use tenure_memory::MemoryStore;

    #[tokio::test]
    async fn l5_a_handler_that_was_told_goes_on_while_its_lease_is_renewed_after_all() {
        let tenure = Tenure::on(MemoryStore::new());
        tenure.enqueue(tenure_core::queue::NewJob::new("q", "k", "1")).await.unwrap();
        let job = tenure.verbs().claim(tenure_core::queue::Claim::new("q", "w")).await.unwrap().jobs.remove(0);
        let owner = "w".to_owned();
        let terms = Arc::new(Terms { tenure, owner, timeout_ms: None, shared: Arc::default(), points: None });
        let (face, hooks) = (Arc::new(Jobs::default()), Arc::new(Unwatched));
        let common = Arc::new(Common { face, terms: terms.clone(), hooks, heart: None });
        let (_finisher, endings) = Finisher::start(common.clone(), Arc::default());
        let (_drop_all, dropped) = watch::channel(false);
        let (cancel_grace, timeout_grace) = (Duration::ZERO, Duration::ZERO);
        let floor = Floor { common, cancel_grace, timeout_grace, endings, drop_all: dropped };
        // About to be over, and renewed before it is.
        let soon = Moment::now().after(Duration::from_millis(50));
        let cx = Context::new(job, Arc::new(Hold::new(soon, terms.around().clone())), terms);
        cx.hold().tell(Cancelled::LeaseEnding);
        let patience = floor.patience(&cx, Cancelled::LeaseEnding);
        let renewed = async {
            cx.hold().renew(soon.after(Duration::from_secs(3_600)));
            while Moment::now() < soon.after(Duration::from_millis(20)) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        tokio::select! {
            biased;
            () = patience => panic!("it was stopped though its lease is held"),
            () = renewed => {}
        }
    }
}
