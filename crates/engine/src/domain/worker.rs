//! A worker for many domains at once: offsets as the face of a [`Worker`], with the [`Desk`](super::Desk) behind it, which decides what
//! is acquired, worked on and tried again.
//!
//! Always true, beside what holds for every worker:
//! - one handler at a time for each domain, in the order of the store's backlog;
//! - calls of many domains that are due at once are one call to the store;
//! - it has a name of its own and a lease, so no other worker is told its tokens, and none waits for one that died;
//! - what is held is kept also between tries.

use super::drive::{Driver, Heard, lost};
use super::source::Source;
use super::{Acquire, Held};
use crate::heart::{Hold, Leases, Span};
use crate::signals::told;
use crate::worker::context::Terms;
use crate::worker::face::{Ask, Claimed, Face, Offer};
use crate::worker::handler::Task;
use crate::worker::parts::Part;
use crate::worker::{Context, Report, Worker, ms};
use crate::{Outcome, Result, Stop, Tenure, worker_name};
use futures_util::future::{BoxFuture, join_all};
use std::future::Future;
use std::ops::Deref;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::retry::Backoff;
use tenure_core::{Invalid, LostReason, Token, bounds};
use tenure_store::{Fenced, Store, StoreError};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Mutex, oneshot, watch};

/// One offset to work on, in the hands of its handler. Whatever any [`Context`] has, it has: being told to stop, shared state.
#[derive(Clone, Debug)]
pub struct Work {
    /// Of this domain.
    pub domain: Arc<str>,
    /// This offset.
    pub offset: u64,
    /// The fencing token: hand it to whatever the handler writes to.
    pub token: Token,
    cx: Context<Offset>,
}

impl Deref for Work {
    type Target = Context<Offset>;

    fn deref(&self) -> &Context<Offset> {
        &self.cx
    }
}

/// A worker for many domains. Made by [`Tenure::domain_worker`].
pub type DomainWorker = Worker<Domains>;

type Handler = Arc<dyn Fn(Work) -> BoxFuture<'static, Outcome<()>> + Send + Sync>;

/// The face of a worker of offsets.
#[derive(Clone)]
pub struct Domains {
    pub(super) lease_ms: u64,
    pub(super) backoff: Backoff,
    pub(super) look_every: Duration,
    handler: Option<Handler>,
    /// The line to the desk, while it works.
    desk: Option<Arc<Line>>,
}

struct Line {
    tell: UnboundedSender<Heard>,
    ready: Mutex<UnboundedReceiver<Offset>>,
}

impl Tenure {
    /// A worker for many domains at once under a [name](Worker::name) of its own, which no two share (D3), 64 unless said otherwise. Handlers at work when it is told to stop are waited for
    /// as long as they take, unless a [grace](Worker::grace) is set.
    #[must_use]
    pub fn domain_worker(&self) -> DomainWorker {
        let (backoff, look_every) = (Backoff::default(), Duration::from_secs(1));
        let lease_ms = bounds::LEASE_MS_DEFAULT;
        let domains = Domains { lease_ms, backoff, look_every, handler: None, desk: None };
        Worker::of(self, String::new(), domains).concurrency(64).grace(Duration::MAX)
    }
}

impl DomainWorker {
    /// How long others wait for what it held, should it die (D4); default 30 s.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> DomainWorker {
        self.face.lease_ms = ms(lease);
        self
    }

    /// The waits between tries; default 1 s × 2^(n−1), at most an hour.
    #[must_use]
    pub fn backoff(mut self, backoff: Backoff) -> DomainWorker {
        self.face.backoff = backoff;
        self
    }

    /// How often a domain is looked at in which offsets wait behind someone else; default 1 s.
    #[must_use]
    pub fn look_every(mut self, look_every: Duration) -> DomainWorker {
        self.face.look_every = look_every;
        self
    }

    /// Works until the source has ended and everything that it offered has ended or is in other hands.
    pub async fn run<S, H, F, E>(self, source: S, handler: H) -> Result<Report>
    where
        S: Source,
        H: Fn(Work) -> F + Send + Sync + 'static,
        F: Future<Output = std::result::Result<(), E>> + Send + 'static,
        E: std::fmt::Display + Send + 'static,
    {
        self.run_until(source, handler, std::future::pending()).await
    }

    /// The same, until `shutdown`: then nothing more is begun, and handlers at work are waited for. What rests between
    /// tries keeps its lease.
    pub async fn run_until<S, H, F, E>(
        mut self,
        source: S,
        handler: H,
        shutdown: impl Future<Output = ()>,
    ) -> Result<Report>
    where
        S: Source,
        H: Fn(Work) -> F + Send + Sync + 'static,
        F: Future<Output = std::result::Result<(), E>> + Send + 'static,
        E: std::fmt::Display + Send + 'static,
    {
        let handler = Arc::new(handler);
        self.face.handler = Some(Arc::new(move |work| {
            let handler = handler.clone();
            Box::pin(async move { Ok(handler(work).await?) })
        }));
        if self.terms.owner.is_empty() {
            // Drawn here, not when it was made: a worker may be cloned, and two under one name would share their leases.
            self.terms.owner = worker_name();
        }
        let ((tell, heard), (ready, readied)) = (unbounded_channel(), unbounded_channel());
        self.face.desk = Some(Arc::new(Line { tell: tell.clone(), ready: Mutex::new(readied) }));
        self.plan.drain = true;
        self.prepare()?;
        let (stop, stopping) = watch::channel(false);
        let driver = Driver::new(&self, self.heart().await?, tell, ready);
        let deciding = driver.run(source, self.plan.concurrency, heard, stopping.clone());
        let working = self.work(None, told(stopping), std::future::pending());
        let both = async { tokio::try_join!(deciding, working) };
        let (mut both, mut shutdown) = (std::pin::pin!(both), std::pin::pin!(shutdown));
        let ((), drained) = tokio::select! {
            both = &mut both => both?,
            () = &mut shutdown => {
                stop.send_replace(true);
                both.await?
            }
        };
        Ok(drained)
    }
}

/// Offsets as a part of a worker of jobs.
pub(crate) fn offsets_of<S, H, F, E>(source: S, handler: H) -> Part
where
    S: Source,
    H: Fn(Work) -> F + Send + Sync + 'static,
    F: Future<Output = std::result::Result<(), E>> + Send + 'static,
    E: std::fmt::Display + Send + 'static,
{
    Box::new(move |shared| {
        Box::pin(async move {
            let worker = shared.adopt(shared.tenure().domain_worker());
            tokio::select! {
                report = worker.run_until(source, handler, shared.leaving()) => report,
                () = shared.leaving_now() => Ok(Report::default()),
            }
        })
    })
}

/// One offset that was acquired.
#[derive(Clone, Debug)]
pub struct Offset {
    pub(super) domain: Arc<str>,
    pub(super) offset: u64,
    pub(super) token: Token,
    pub(super) hold: Arc<Hold>,
}

impl Leases for Offset {
    type Key = (Arc<str>, Token);
    type Part = ();

    async fn beat(
        store: Arc<dyn Store>,
        _: String,
        keys: Vec<(Arc<str>, Token)>,
    ) -> std::result::Result<Vec<Fenced<Vec<()>>>, StoreError> {
        // Whoever holds is told by its token; a holder's name is no part of it.
        let beats = keys.into_iter().map(|(domain, token)| Held { domain, token }).collect();
        let answers = store.domain_heartbeat(beats).await?;
        Ok(answers.into_iter().map(|answer| answer.map(|_| Vec::new()).map_err(lost)).collect())
    }
}

impl Claimed for Offset {
    fn key(&self) -> (Arc<str>, Token) {
        (self.domain.clone(), self.token)
    }

    fn part(&self) {}

    fn token(&self) -> Token {
        self.token
    }

    fn hold(&self) -> Option<Arc<Hold>> {
        Some(self.hold.clone())
    }
}

/// How a try at an offset ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Act {
    /// It is done.
    Succeed,
    /// It failed.
    Fail {
        /// What went wrong.
        error: String,
    },
    /// Nothing is said of it: its lease runs out.
    Leave,
}

/// What became of an offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// It is done.
    Succeeded,
    /// It is tried again.
    Retried,
    /// It was given up.
    GaveUp,
    /// It is left to whoever takes it over (D4).
    Left,
}

/// The end of a try, for the desk.
pub(super) type Ending = ((Arc<str>, Token), Act);

impl Face for Domains {
    type Unit = Offset;
    type Done = ();
    type Act = Act;
    type Ending = Ending;
    type Ended = Ended;

    const CLAIMS: &'static str = "offsets";

    fn prepare(worker: &mut DomainWorker) -> Result<()> {
        let (domain, holder) = ("any".into(), Some(worker.terms.owner.as_str().into()));
        Acquire { domain, offset: 0, holder, lease_ms: Some(worker.face.lease_ms) }.check()?;
        Ok(worker.face.backoff.check()?)
    }

    /// The desk looks by itself.
    fn wakes(&self) -> Vec<String> {
        Vec::new()
    }

    fn span(&self, _: &Offset) -> Span {
        Span::of(Duration::from_millis(self.lease_ms))
    }

    async fn claim(&self, _: &Terms, ask: Ask) -> Result<Offer<Offset>> {
        let mut units = Vec::new();
        if let Some(desk) = &self.desk {
            // None at all once the desk has nothing left to do.
            desk.ready.lock().await.recv_many(&mut units, ask.max as usize).await;
        }
        Ok(Offer { units, again_in: None, limited: true, held: false })
    }

    fn log_span(cx: &Context<Offset>) -> tracing::Span {
        tracing::info_span!("offset", domain = %cx.unit().domain, offset = cx.unit().offset)
    }

    fn begin(self: &Arc<Self>, cx: Context<Offset>) -> Option<Task<()>> {
        let Offset { domain, offset, token, .. } = cx.unit().clone();
        let work = Work { domain, offset, token, cx };
        self.handler.as_ref().map(|handler| Task::spawn(handler(work)))
    }

    fn act(outcome: Outcome<()>, _: f64) -> Option<Act> {
        Some(match outcome {
            Ok(()) => Act::Succeed,
            Err(Stop::Release) => Act::Leave,
            Err(failed) => Act::Fail { error: failed.failure(0.0).0 },
        })
    }

    /// Only a failure counts (D2): whoever takes it over has as many tries left.
    fn not_kept(_: f64) -> Option<Act> {
        Some(Act::Leave)
    }

    fn ending(_: &str, key: (Arc<str>, Token), (): (), act: Act) -> Ending {
        (key, act)
    }

    fn check(_: &mut Ending) -> std::result::Result<(), Invalid> {
        Ok(())
    }

    fn act_of(ending: &mut Ending) -> &mut Act {
        &mut ending.1
    }

    async fn finish(&self, _: &Terms, endings: Vec<Ending>) -> std::result::Result<Vec<Fenced<Ended>>, StoreError> {
        let answers = endings.into_iter().filter_map(|ending| {
            let (reply, answer) = oneshot::channel();
            // An error means that the desk has nothing left to do, and so that this is not ours any more.
            let _ = self.desk.as_ref()?.tell.send(Heard::Ended(ending, reply));
            Some(answer)
        });
        let answers = join_all(answers).await;
        Ok(answers.into_iter().map(|answer| answer.unwrap_or(Err(LostReason::Unknown))).collect())
    }

    fn count(report: &mut Report, _: &Ending, answer: &Fenced<Ended>) {
        match answer {
            Ok(Ended::Succeeded) => report.completed += 1,
            Ok(Ended::Retried) => report.retried += 1,
            Ok(Ended::GaveUp) => report.failed += 1,
            Ok(Ended::Left) => report.released += 1,
            Err(_) => report.refused += 1,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{State, offsets};
    use super::*;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU64, Ordering};
    use tenure_core::Time;
    use tenure_core::domain::Acquired;
    use tenure_memory::MemoryStore;
    use tenure_store::Clock;

    async fn in_memory() -> Tenure {
        Tenure::open("memory:").await.unwrap()
    }

    type Seen = Arc<Mutex<Vec<(Arc<str>, u64)>>>;

    fn noting(seen: &Seen) -> impl Fn(Work) -> std::future::Ready<std::result::Result<(), String>> + use<> {
        let seen = seen.clone();
        move |work| {
            seen.lock().unwrap().push((work.domain, work.offset));
            std::future::ready(Ok(()))
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn d1_many_domains_are_drained_each_in_the_order_of_its_offsets() {
        let (tenure, seen) = (in_memory().await, Seen::default());
        let items = (0..2_000_u64).map(|n| (format!("acct-{}", n % 20), n / 20));
        let drained = tenure.domain_worker().concurrency(8).run(offsets(items), noting(&seen)).await.unwrap();
        assert_eq!(drained, Report { completed: 2_000, ..Report::default() });
        let seen = seen.lock().unwrap();
        for n in 0..20 {
            let name = format!("acct-{n}");
            let order: Vec<u64> =
                seen.iter().filter(|(domain, _)| **domain == *name).map(|(_, offset)| *offset).collect();
            assert_eq!(order, (0..100).collect::<Vec<_>>(), "{name}");
        }
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn i15_one_handler_at_a_time_for_each_domain() {
        let tenure = in_memory().await;
        let at_work = Arc::new(AtomicU64::new(0));
        let handler = move |_: Work| {
            let at_work = at_work.clone();
            async move {
                assert_eq!(at_work.fetch_add(1, Ordering::SeqCst), 0, "two handlers in one domain");
                tokio::task::yield_now().await;
                at_work.fetch_sub(1, Ordering::SeqCst);
                Ok::<(), String>(())
            }
        };
        let drained = tenure.domain_worker().run(offsets((0..300).map(|n| ("a", n))), handler).await.unwrap();
        assert_eq!((drained.completed, drained.failed), (300, 0));
    }

    #[tokio::test(start_paused = true)]
    async fn d2_a_poison_offset_is_retried_given_up_and_the_next_goes_on() {
        let tenure = in_memory().await;
        let tries = Arc::new(AtomicU64::new(0));
        let handler = {
            let tries = tries.clone();
            move |work: Work| {
                let poison = work.offset == 2;
                tries.fetch_add(u64::from(poison), Ordering::SeqCst);
                std::future::ready(if poison { Err("poison") } else { Ok(()) })
            }
        };
        let source = offsets([("a", 1), ("a", 2), ("a", 3)]);
        let drained = tenure.domain_worker().run(source, handler).await.unwrap();
        assert_eq!((drained.completed, drained.retried, drained.failed), (2, 3, 1));
        assert_eq!(tries.load(Ordering::SeqCst), 4);
        assert_eq!(tenure.domain("a").try_acquire(2).await.unwrap(), Acquired::AlreadyFailed);
    }

    #[tokio::test(start_paused = true)]
    async fn d4_what_a_dead_holder_left_is_taken_over_and_order_is_kept() {
        let clock = Clock::manual(Time(0));
        let tenure = Tenure::on(MemoryStore::with_clock(clock.clone()));
        let dead = tenure.domain("a").worker("dead").lease(Duration::from_secs(1));
        dead.try_acquire(1).await.unwrap();
        dead.try_acquire(2).await.unwrap();
        clock.set(Time(1_000_000));
        let seen = Seen::default();
        let worker = tenure.domain_worker().name("alive").lease(Duration::from_secs(60));
        worker.run(offsets([("a", 3)]), noting(&seen)).await.unwrap();
        let order: Vec<u64> = seen.lock().unwrap().iter().map(|(_, offset)| *offset).collect();
        assert_eq!(order, [1, 2, 3]);
        assert!(tenure.verbs().domains(None, Some(State::Blocked), 10).await.unwrap().items.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a12_a_handler_whose_lease_is_lost_is_stopped() {
        let tenure = in_memory().await;
        let worker = tenure.domain_worker().name("w").lease(Duration::from_millis(300));
        let other = tenure.clone();
        let handler = move |work: Work| {
            let other = other.clone();
            async move {
                // An operator skips it meanwhile: the next heartbeat is refused.
                other.domain(&work.domain).skip(work.offset).await.map_err(|error| error.to_string())?;
                std::future::pending::<std::result::Result<(), String>>().await
            }
        };
        let drained = worker.run(offsets([("a", 1)]), handler).await.unwrap();
        assert_eq!((drained.completed, drained.refused), (0, 1));
    }

    #[tokio::test]
    async fn a12_a_lease_that_is_lost_between_tries_holds_up_nobody() {
        let tenure = in_memory().await;
        let long = Backoff { initial_ms: 3_600_000, factor: 1.0, max_ms: 3_600_000, jitter: 0.0 };
        let worker = tenure.domain_worker().lease(Duration::from_millis(300)).backoff(long);
        let handler = |work: Work| std::future::ready(if work.offset == 1 { Err("later") } else { Ok(()) });
        let skipped = async {
            let rests = async || {
                let lease = tenure.verbs().domain("a").await.unwrap().and_then(|info| info.lease);
                lease.is_some_and(|lease| lease.retry_count == 1)
            };
            while !rests().await {
                tokio::task::yield_now().await;
            }
            tenure.domain("a").skip(1).await.unwrap();
        };
        let drained = worker.run(offsets([("a", 1), ("a", 2)]), handler);
        let both = async { tokio::join!(drained, skipped) };
        let (drained, ()) = tokio::time::timeout(Duration::from_secs(60), both).await.expect("the next goes on");
        assert_eq!(drained.unwrap().completed, 1);
        assert_eq!(tenure.domain("a").try_acquire(2).await.unwrap(), Acquired::AlreadyProcessed);
    }

    #[tokio::test]
    async fn a_shutdown_waits_for_handlers_and_leaves_the_rest_in_the_backlog() {
        let tenure = in_memory().await;
        let (begun, mut begins) = tokio::sync::mpsc::channel(1);
        let (go_on, wait) = tokio::sync::watch::channel(false);
        let handler = move |_: Work| {
            let (begun, mut wait) = (begun.clone(), wait.clone());
            async move {
                begun.send(()).await.map_err(|error| error.to_string())?;
                wait.wait_for(|go| *go).await.map_err(|error| error.to_string())?;
                Ok::<(), String>(())
            }
        };
        let shutdown = async move {
            begins.recv().await;
            go_on.send(true).unwrap();
            begins.close();
        };
        let items = offsets((0..3).map(|n| ("a", n)));
        tenure.domain("a").change().await.unwrap();
        let drained = tenure.domain_worker().run_until(items, handler, shutdown).await.unwrap();
        assert_eq!(drained.completed, 1, "nothing more was begun");
        assert_eq!(tenure.domain("a").info().await.unwrap().lease, None);
    }

    #[tokio::test]
    async fn x_a_worker_out_of_bounds_is_refused() {
        let tenure = in_memory().await;
        let seen = Seen::default();
        let refused = tenure.domain_worker().lease(Duration::from_millis(1)).run(offsets([("a", 1)]), noting(&seen));
        assert_eq!(refused.await.unwrap_err().code(), "out_of_bounds");
        let refused = tenure.domain_worker().concurrency(0).run(offsets([("a", 1)]), noting(&seen));
        assert_eq!(refused.await.unwrap_err().code(), "out_of_bounds");
        let refused = tenure.domain_worker().run(offsets([("", 1)]), noting(&seen));
        assert_eq!(refused.await.unwrap_err().code(), "invalid_name");
    }
}
