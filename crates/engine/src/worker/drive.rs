//! The thin driver around a [`Shift`]: carries its orders out and tells it what came of them.

use super::context::{Context, Running};
use super::finisher::{Due, Finisher};
use super::leases::Jobs;
use super::run::{self, Floor};
use super::shift::{Event, Order, Shift, Unit};
use super::{Report, Worker};
use crate::clock::Moment;
use crate::heart::{self, Cancelled, Heart, Hold, Span};
use crate::{Result, Tenure};
use futures_util::future::{BoxFuture, FusedFuture};
use futures_util::stream::FuturesUnordered;
use futures_util::{FutureExt, StreamExt};
use std::collections::{BTreeMap, HashMap};
use std::future::Future;
use std::pin::Pin;
use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tenure_core::Token;
use tenure_core::queue::{Act, Claim, Claims, Ending, Grants, Start};
use tenure_store::StoreError;
use tokio::sync::watch;
use tokio::time::Instant;

/// How long a worker that must leave now waits for the store, and any worker once its grace is over.
const LEAVE_NOW: Duration = Duration::from_secs(2);
/// How long a handler that was dropped has to hand its ending on.
const HAND_ON: Duration = Duration::from_secs(1);
/// How long one that was told to leave waits for it at least, once its handlers have ended: its grace may be over by then.
/// An ending can take for ever, as one of a job that a user's transaction holds.
const LEAVE: Duration = Duration::from_secs(5);
/// How long what is known of limits is believed. A prefetched job too many costs fairness, never W.
const LIMITS_KNOWN_FOR: Duration = Duration::from_secs(5);
/// Between tries to commit a started mark.
const MARK_AGAIN: Duration = Duration::from_millis(100);

/// What the driver waits for.
enum Came {
    Claimed { answer: std::result::Result<Claims, StoreError>, asked_at: Moment, limited: bool, unsettled: bool },
    Marked { token: Token, held: bool },
    Vacated(Unit),
}

struct Driver {
    tenure: Tenure,
    owner: String,
    lease: Duration,
    heart: Arc<Heart<Jobs>>,
    floor: Arc<Floor>,
    worker: Arc<Worker>,
    drop_all: watch::Sender<bool>,
    holds: HashMap<Unit, Arc<Hold>>,
    under_way: FuturesUnordered<BoxFuture<'static, Came>>,
    limits: Arc<Mutex<Option<(Moment, bool)>>>,
    silent: bool,
}

/// Works until `leave`, and without waiting for anyone from `leave_now` on.
pub(super) async fn drive(
    mut worker: Worker,
    leave: impl Future<Output = ()>,
    leave_now: impl Future<Output = ()>,
) -> Result<Report> {
    let plan = worker.plan()?;
    let points = worker.points.clone();
    let heart = Arc::new(Heart::start(worker.owner.clone(), worker.tenure.apart(), points.clone()).await?);
    let report = Arc::new(Mutex::new(Report::default()));
    let finisher =
        Finisher::start(worker.tenure.clone(), heart.clone(), worker.hooks.clone(), report.clone(), points.clone());
    let (drop_all, dropped) = watch::channel(false);
    let floor = Floor {
        handlers: std::mem::take(&mut worker.handlers),
        hooks: worker.hooks.clone(),
        cancel_grace: worker.cancel_grace,
        timeout_grace: worker.timeout_grace,
        endings: finisher.drop_box(),
        drop_all: dropped,
    };
    let mut driver = Driver {
        tenure: worker.tenure.clone(),
        owner: worker.owner.clone(),
        lease: worker.lease,
        heart,
        floor: Arc::new(floor),
        drop_all,
        holds: HashMap::new(),
        under_way: FuturesUnordered::new(),
        limits: Arc::default(),
        silent: true,
        worker: Arc::new(worker),
    };
    let killed = async {
        match &points {
            Some(points) => points.killed().await,
            None => std::future::pending().await,
        }
    };
    // A handler that is told to stop at the end of the grace may put its things away, and its ending be handed on.
    let grace = plan.grace;
    let at_most = grace.saturating_add(driver.worker.cancel_grace).saturating_add(HAND_ON);
    let (mut leave, mut leave_now) = (std::pin::pin!(leave.fuse()), std::pin::pin!(leave_now.fuse()));
    tokio::select! {
        left = driver.shift(Shift::new(plan), at_most, leave.as_mut(), leave_now.as_mut()) => {
            let unsettled = driver.floor.endings.unsettled();
            drop(driver);
            let told = async {
                let asked_at = match left.asked_at {
                    Some(at) => at,
                    // It had nothing left to do, and nobody had told it to leave.
                    None => {
                        leave.await;
                        Moment::now()
                    }
                };
                tokio::time::sleep(grace.saturating_sub(asked_at.until(Moment::now())).max(LEAVE)).await;
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
    Ok(report)
}

/// How a shift came to its end.
#[derive(Clone, Copy, Default)]
struct Left {
    /// When it was told to.
    asked_at: Option<Moment>,
    /// Whether it had to end now.
    now: bool,
}

impl Driver {
    /// Works a whole shift, and is gone `at_most` after it was told to leave, whether the store answers or not.
    async fn shift(
        &mut self,
        mut shift: Shift,
        at_most: Duration,
        mut leave: Pin<&mut impl FusedFuture<Output = ()>>,
        mut leave_now: Pin<&mut impl FusedFuture<Output = ()>>,
    ) -> Left {
        let queues = self.worker.queue_names();
        let mut listener = self.tenure.store.signals().listen(queues);
        let (mut left, mut gone_by) = (Left::default(), None);
        let mut event = Event::Look;
        loop {
            for order in shift.step(event, Moment::now()) {
                if order == Order::Over {
                    return left;
                }
                self.carry_out(order);
            }
            let rest = shift.next().map_or(Duration::MAX, |next| Moment::now().until(next));
            event = tokio::select! {
                biased;
                () = &mut leave_now, if !leave_now.is_terminated() => {
                    left.now = true;
                    gone_by = Some(Instant::now() + LEAVE_NOW);
                    Event::LeaveNow
                }
                () = until(gone_by) => return left,
                () = &mut leave, if !left.now && !leave.is_terminated() => {
                    left.asked_at = Some(Moment::now());
                    // One that never leaves has no time to be gone by.
                    gone_by = Instant::now().checked_add(at_most);
                    Event::Leave
                }
                Some(came) = self.under_way.next() => self.came(came),
                () = listener.woken() => Event::Look,
                () = tokio::time::sleep(rest) => Event::Look,
            };
        }
    }

    fn carry_out(&mut self, order: Order) {
        match order {
            Order::Claim { queues, max, begin } => self.claim(queues, max, begin),
            Order::Mark { token, count } => self.mark(token, count),
            Order::Begin(mut job) => {
                let timeout = self.worker.timeout.map(|span| u64::try_from(span.as_millis()).unwrap_or(u64::MAX));
                job.timeout_ms = job.timeout_ms.or(timeout);
                let unit = (job.id, job.token);
                // Granted together with the job.
                let Some(hold) = self.holds.remove(&unit) else { return };
                let running = Running {
                    job: *job,
                    owner: self.owner.clone(),
                    hold,
                    tenure: self.tenure.clone(),
                    shared: self.worker.shared.clone(),
                    points: self.worker.points.clone(),
                };
                let cx = Context::new(running);
                let span = tracing::info_span!("job", id = %cx.id(), kind = cx.job().kind, attempt = cx.attempt());
                let work = tracing::Instrument::instrument(run::run(self.floor.clone(), cx), span);
                self.under_way.push(Box::pin(async move {
                    work.await;
                    Came::Vacated(unit)
                }));
            }
            Order::GiveBack(units) => units.into_iter().for_each(|unit| self.give_back(unit)),
            Order::TellAll => self.worker.running.tell(Cancelled::Shutdown),
            Order::DropAll => {
                self.drop_all.send_replace(true);
            }
            Order::Over => {}
        }
    }

    fn claim(&mut self, queues: Vec<String>, max: u32, begin: u32) {
        let claim = Claim {
            queues,
            kinds: self.worker.kinds.clone(),
            owner: self.owner.clone(),
            max,
            lease_ms: u64::try_from(self.lease.as_millis()).unwrap_or(u64::MAX),
            grants: Grants::Shared { started: begin },
        };
        let (worker, limits, unsettled) = (self.worker.clone(), self.limits.clone(), self.floor.endings.unsettled());
        self.under_way.push(Box::pin(async move {
            if let Some(points) = &worker.points {
                points.living().await;
            }
            let asked_at = Moment::now();
            let unsettled = unsettled.load(Ordering::SeqCst) > 0;
            let answer = worker.tenure.outage.watch("claims", worker.tenure.store.claim(claim)).await;
            let limited = worker.prefetch == 0 || limited(&worker, &limits).await;
            Came::Claimed { answer, asked_at, limited, unsettled }
        }));
    }

    fn mark(&mut self, token: Token, count: u32) {
        let start = Start { owner: self.owner.clone(), token, count };
        let holds: Vec<Arc<Hold>> =
            self.holds.iter().filter(|((_, of), _)| *of == token).map(|(_, hold)| hold.clone()).collect();
        let store = self.tenure.store.clone();
        self.under_way.push(Box::pin(async move {
            let held = loop {
                match store.start(start.clone()).await {
                    Ok(answer) => break answer.is_ok(),
                    Err(_) if holds.iter().all(|hold| hold.gone()) => break false,
                    Err(_) => tokio::time::sleep(MARK_AGAIN).await,
                }
            };
            Came::Marked { token, held }
        }));
    }

    fn give_back(&mut self, (job, token): Unit) {
        let Some(hold) = self.holds.remove(&(job, token)) else { return };
        let ending = Ending { job, owner: self.owner.clone(), token, act: Act::Release };
        self.floor.endings.send(Due { ending, hold, cx: None, took: Duration::ZERO });
    }

    fn came(&mut self, came: Came) -> Event {
        match came {
            Came::Claimed { answer: Ok(claims), asked_at, limited, unsettled } => {
                self.silent = true;
                self.granted(&claims, asked_at);
                let again_in = claims.again_in_ms.map(Duration::from_millis);
                Event::Claimed { jobs: claims.jobs, again_in, limited, unsettled }
            }
            Came::Claimed { answer: Err(error), .. } => {
                // Once per outage, not once per try.
                if std::mem::take(&mut self.silent) {
                    self.worker.hooks.store_away(&error);
                }
                Event::Unanswered
            }
            Came::Marked { token, held } => {
                if !held {
                    self.holds.retain(|(_, of), _| *of != token);
                }
                Event::Marked { token, held }
            }
            Came::Vacated(unit) => Event::Vacated(unit),
        }
    }

    /// Hands new leases to the heart before anything of them begins.
    fn granted(&mut self, claims: &Claims, asked_at: Moment) {
        if claims.jobs.is_empty() {
            return;
        }
        self.worker.hooks.claimed(claims.jobs.len());
        let mut grants: BTreeMap<Token, Vec<_>> = BTreeMap::new();
        for job in &claims.jobs {
            let hold = heart::hold(asked_at, Span::of(self.lease));
            self.worker.running.add(&hold);
            self.holds.insert((job.id, job.token), hold.clone());
            grants.entry(job.token).or_default().push((job.id, hold));
        }
        for (token, jobs) in grants {
            self.heart.granted(token, Span::of(self.lease), asked_at, jobs);
        }
    }
}

async fn until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

/// Whether a limit is set on any queue of the worker, or on the engine; believed for a while.
async fn limited(worker: &Worker, known: &Mutex<Option<(Moment, bool)>>) -> bool {
    let believed = *known.lock().unwrap_or_else(|poisoned| poisoned.into_inner());
    if let Some((at, limited)) = believed
        && at.until(Moment::now()) < LIMITS_KNOWN_FOR
    {
        return limited;
    }
    // With the store away nothing is prefetched either.
    let limited = any_limit(worker).await.unwrap_or(true);
    *known.lock().unwrap_or_else(|poisoned| poisoned.into_inner()) = Some((Moment::now(), limited));
    limited
}

async fn any_limit(worker: &Worker) -> std::result::Result<bool, StoreError> {
    let store = &worker.tenure.store;
    if store.limit().await?.is_some() {
        return Ok(true);
    }
    for queue in worker.queue_names() {
        let Some(info) = store.queue(&queue).await? else { continue };
        if info.settings.max_running.is_some() || info.settings.max_running_per_key.is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}
