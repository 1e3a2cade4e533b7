//! The thin driver around a [`Shift`]: carries its orders out and tells it what came of them.

use super::context::Context;
use super::face::{Ask, Claimed, Face, Id, Offer};
use super::finisher::{Due, Finisher};
use super::outcome::Stop;
use super::run::{self, Common, Floor};
use super::running::RunningUnits;
use super::shift::{Event, Order, Shift};
use super::{Report, Worker};
use crate::clock::Moment;
use crate::heart::{self, Cancelled, Heart, Hold, Leases};
use crate::outage::OfStore;
use crate::{Error, Result};
use futures_util::future::{BoxFuture, FusedFuture};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tenure_store::Listener;
use tokio::sync::watch;
use tokio::time::Instant;

/// How long a worker that must leave now waits for the store, and any worker once its grace is over.
const LEAVE_NOW: Duration = Duration::from_secs(2);
/// How long a handler that was dropped has to hand its ending on.
const HAND_ON: Duration = Duration::from_secs(1);
/// How long one that was told to leave waits for it at least, once its handlers have ended: its grace may be over by then.
/// An ending can take for ever, as one of a job that a user's transaction holds.
const LEAVE: Duration = Duration::from_secs(5);
/// Between tries to commit a started mark.
const MARK_AGAIN: Duration = Duration::from_millis(100);

/// What the driver waits for.
enum Came<F: Face> {
    Claimed { answer: Result<Offer<F::Unit>>, asked_at: Moment, unsettled: bool },
    Marked { key: <F::Unit as Leases>::Key, held: bool },
    Vacated(Id<F::Unit>),
}

struct Driver<F: Face> {
    floor: Arc<Floor<F>>,
    running: RunningUnits,
    drop_all: watch::Sender<bool>,
    holds: HashMap<Id<F::Unit>, Arc<Hold>>,
    under_way: FuturesUnordered<BoxFuture<'static, Came<F>>>,
    silent: bool,
    /// Why it cannot go on.
    failed: Option<Error>,
}

/// Works until `leave`, and without waiting for anyone from `leave_now` on.
pub(super) async fn drive<F: Face>(
    worker: Worker<F>,
    heart: Option<Arc<Heart<F::Unit>>>,
    leave: impl Future<Output = ()>,
    leave_now: impl Future<Output = ()>,
) -> Result<Report> {
    let Worker { face, plan, cancel_grace, timeout_grace, hooks, .. } = worker;
    let (points, around) = (worker.terms.points.clone(), worker.terms.around().clone());
    let common = Arc::new(Common { face: Arc::new(face), terms: Arc::new(worker.terms), hooks, heart });
    let report = Arc::new(Mutex::new(Report::default()));
    let (finisher, endings) = Finisher::start(common.clone(), report.clone());
    let (drop_all, dropped) = watch::channel(false);
    let mut driver = Driver {
        floor: Arc::new(Floor { common, cancel_grace, timeout_grace, endings, drop_all: dropped }),
        running: RunningUnits::default(),
        drop_all,
        holds: HashMap::new(),
        under_way: FuturesUnordered::new(),
        silent: true,
        failed: None,
    };
    let killed = async {
        match &points {
            Some(points) => points.killed().await,
            None => std::future::pending().await,
        }
    };
    // A handler that is told to stop at the end of the grace may put its things away, and its ending be handed on.
    let grace = plan.grace;
    let at_most = grace.saturating_add(cancel_grace).saturating_add(HAND_ON);
    let (mut leave, mut leave_now) = (std::pin::pin!(leave.fuse()), std::pin::pin!(leave_now.fuse()));
    let mut failed = None;
    tokio::select! {
        left = driver.shift(Shift::new(plan), at_most, leave.as_mut(), leave_now.as_mut()) => {
            let unsettled = driver.floor.endings.unsettled();
            failed = driver.failed.take();
            drop(driver);
            let told = async {
                let asked_at = match left.asked_at {
                    Some(at) => at,
                    // It had nothing left to do, and nobody had told it to leave.
                    None => {
                        leave.await;
                        around.now()
                    }
                };
                tokio::time::sleep(grace.saturating_sub(asked_at.until(around.now())).max(LEAVE)).await;
            };
            let told_now = async {
                if !left.now {
                    leave_now.await;
                }
                tokio::time::sleep(LEAVE_NOW).await;
            };
            tokio::select! {
                () = finisher.close() => {}
                // What was not written is found by recovery.
                () = async { tokio::select! { () = told => {}, () = told_now => {} } } => {
                    tracing::warn!(endings = unsettled.load(Ordering::SeqCst), "left before the store took all endings");
                }
            }
        }
        // Nothing more is written; what was in hand is found by recovery.
        () = killed => {}
    }
    let report = *report.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    failed.map_or(Ok(report), Err)
}

/// How a shift came to its end.
#[derive(Clone, Copy, Default)]
struct Left {
    /// When it was told to.
    asked_at: Option<Moment>,
    /// Whether it had to end now.
    now: bool,
}

impl<F: Face> Driver<F> {
    /// Works a whole shift, and is gone `at_most` after it was told to leave, whether the store answers or not.
    async fn shift(
        &mut self,
        mut shift: Shift<F::Unit>,
        at_most: Duration,
        mut leave: Pin<&mut impl FusedFuture<Output = ()>>,
        mut leave_now: Pin<&mut impl FusedFuture<Output = ()>>,
    ) -> Left {
        let Common { face, terms, .. } = &*self.floor.common;
        // Listening begins before the first look, so that nothing in between is missed.
        let wakes = Some(face.wakes()).filter(|names| !names.is_empty());
        let mut listener = wakes.map(|names| terms.tenure.store.signals().listen(names));
        let around = terms.around().clone();
        let (mut left, mut gone_by) = (Left::default(), None);
        let mut event = Event::Look;
        loop {
            for order in shift.step(event, around.now()) {
                if matches!(order, Order::Over) {
                    return left;
                }
                self.carry_out(order);
            }
            let rest = shift.next().map_or(Duration::MAX, |next| around.now().until(next));
            event = tokio::select! {
                biased;
                () = &mut leave_now, if !leave_now.is_terminated() => {
                    left.now = true;
                    gone_by = Some(Instant::now() + LEAVE_NOW);
                    Event::LeaveNow
                }
                () = until(gone_by) => return left,
                () = &mut leave, if !left.now && !leave.is_terminated() => {
                    left.asked_at = Some(around.now());
                    // One that never leaves has no time to be gone by.
                    gone_by = Instant::now().checked_add(at_most);
                    Event::Leave
                }
                Some(came) = self.under_way.next() => match self.came(came) {
                    Ok(event) => event,
                    Err(error) => {
                        self.failed = Some(error);
                        left.asked_at = Some(around.now());
                        gone_by = Instant::now().checked_add(at_most);
                        Event::Failed
                    }
                },
                () = woken(&mut listener) => Event::Look,
                () = tokio::time::sleep(rest) => Event::Look,
            };
        }
    }

    fn carry_out(&mut self, order: Order<F::Unit>) {
        match order {
            Order::Claim(ask) => self.claim(ask),
            Order::Mark { key, count } => self.mark(key, count),
            Order::Begin(unit) => {
                let id = (unit.part(), unit.key());
                // Granted together with the unit.
                let Some(hold) = self.holds.remove(&id) else { return };
                let cx = Context::new(*unit, hold, self.floor.common.terms.clone());
                let span = F::log_span(&cx);
                let work = tracing::Instrument::instrument(run::run(self.floor.clone(), cx), span);
                self.under_way.push(Box::pin(async move {
                    work.await;
                    Came::Vacated(id)
                }));
            }
            Order::GiveBack(ids) => ids.into_iter().for_each(|id| self.give_back(id)),
            Order::TellAll => self.running.tell(Cancelled::Shutdown),
            Order::DropAll => {
                self.drop_all.send_replace(true);
            }
            Order::Over => {}
        }
    }

    fn claim(&mut self, ask: Ask) {
        let (common, unsettled) = (self.floor.common.clone(), self.floor.endings.unsettled());
        self.under_way.push(Box::pin(async move {
            let Common { face, terms, .. } = &*common;
            terms.living().await;
            let asked_at = terms.around().now();
            let unsettled = unsettled.load(Ordering::SeqCst) > 0;
            let answer = terms.tenure.outage.watch(F::CLAIMS, face.claim(terms, ask)).await;
            Came::Claimed { answer, asked_at, unsettled }
        }));
    }

    fn mark(&mut self, key: <F::Unit as Leases>::Key, count: u32) {
        let holds: Vec<Arc<Hold>> =
            self.holds.iter().filter(|((_, of), _)| *of == key).map(|(_, hold)| hold.clone()).collect();
        let common = self.floor.common.clone();
        self.under_way.push(Box::pin(async move {
            let held = loop {
                match common.face.start(&common.terms, key.clone(), count).await {
                    Ok(held) => break held,
                    Err(_) if holds.iter().all(|hold| hold.gone()) => break false,
                    Err(_) => tokio::time::sleep(MARK_AGAIN).await,
                }
            };
            Came::Marked { key, held }
        }));
    }

    fn give_back(&mut self, id: Id<F::Unit>) {
        let Some(hold) = self.holds.remove(&id) else { return };
        let Some(act) = F::act(Err(Stop::Release), 0.0) else { return };
        let (part, key) = id;
        let ending = F::ending(&self.floor.common.terms.owner, key.clone(), part.clone(), act);
        self.floor.endings.send(Due { ending, key, part, hold, cx: None, took: Duration::ZERO });
    }

    /// What to tell the shift; an error that no waiting mends ends it.
    fn came(&mut self, came: Came<F>) -> Result<Event<F::Unit>> {
        Ok(match came {
            Came::Claimed { answer: Ok(offer), asked_at, unsettled } => {
                self.silent = true;
                self.granted(&offer.units, asked_at);
                Event::Claimed { offer, unsettled }
            }
            Came::Claimed { answer: Err(error), .. } if F::fatal(&error) => return Err(error),
            Came::Claimed { answer: Err(error), .. } => {
                // Once per outage, not once per try.
                if std::mem::take(&mut self.silent) && error.of_store().is_some() {
                    self.floor.common.hooks.store_away(&error);
                }
                Event::Unanswered
            }
            Came::Marked { key, held } => {
                if !held {
                    self.holds.retain(|(_, of), _| *of != key);
                }
                Event::Marked { key, held }
            }
            Came::Vacated(id) => Event::Vacated(id),
        })
    }

    /// Hands new leases to the heart before anything of them begins.
    fn granted(&mut self, units: &[F::Unit], asked_at: Moment) {
        if units.is_empty() {
            return;
        }
        let Common { face, terms, hooks, heart } = &*self.floor.common;
        hooks.claimed(units.len());
        let mut grants: BTreeMap<_, (_, Vec<_>)> = BTreeMap::new();
        for unit in units {
            let span = face.span(unit);
            let hold = unit.hold().unwrap_or_else(|| heart::hold(asked_at, span, terms.around().clone()));
            self.running.add(&hold);
            self.holds.insert((unit.part(), unit.key()), hold.clone());
            grants.entry(unit.key()).or_insert((span, Vec::new())).1.push((unit.part(), hold));
        }
        let Some(heart) = heart else { return };
        for (key, (span, parts)) in grants {
            heart.granted(key, span, asked_at, parts);
        }
    }
}

async fn woken(listener: &mut Option<Listener>) {
    match listener {
        Some(listener) => listener.woken().await,
        None => std::future::pending().await,
    }
}

async fn until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}
