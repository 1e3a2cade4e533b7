//! A worker for many domains at once: the driver around [`Desk`], which decides.
//!
//! Always true:
//! - one handler at a time for each domain, in the order of the store's backlog;
//! - calls of many domains that are due at once are one call to the store;
//! - it has a name of its own and a lease, so no other worker is told its tokens, and none waits for one that died;
//! - the heart renews what is held, also between tries, whatever the handlers do with the runtime and its connections
//!   (A9, A10); a handler whose lease is refused, or could not be renewed in time, is stopped.

use super::desk::{Action, Desk, Happened};
use super::source::Source;
use super::{Acquire, Advance, Held};
use crate::clock::Moment;
use crate::heart::{Heart, Kept, Leases, Span};
use crate::worker_name;
use crate::{Error, Result, Tenure};
use std::collections::HashMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::domain::{Acquired, Advanced, Answer, DomainInfo, Failed, Refused, Settings};
use tenure_core::retry::Backoff;
use tenure_core::{LostReason, Token, bounds};
use tenure_store::{Fenced, Store, StoreError};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::task::AbortHandle;

/// Events that one turn takes note of before it acts.
const TURN_MAX: usize = 1_024;

/// One offset to work on.
#[derive(Clone, Debug)]
pub struct Work {
    /// Of this domain.
    pub domain: Arc<str>,
    /// This offset.
    pub offset: u64,
    /// The fencing token: hand it to whatever the handler writes to.
    pub token: Token,
}

/// What a worker did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Drained {
    /// Handlers that ended well, and were told so.
    pub succeeded: u64,
    /// Tries that failed and were not the last.
    pub retried: u64,
    /// Offsets given up.
    pub gave_up: u64,
    /// Handlers whose lease was lost.
    pub lost: u64,
}

/// A worker for many domains.
#[derive(Clone, Debug)]
pub struct DomainWorker {
    tenure: Tenure,
    holder: Option<Arc<str>>,
    lease_ms: u64,
    concurrency: usize,
    backoff: Backoff,
    look_every: Duration,
}

impl DomainWorker {
    pub(super) fn new(tenure: Tenure) -> DomainWorker {
        let look_every = Duration::from_secs(1);
        let lease_ms = bounds::LEASE_MS_DEFAULT;
        DomainWorker { tenure, holder: None, lease_ms, concurrency: 64, backoff: Backoff::default(), look_every }
    }

    /// Names the worker, so that no other is told its tokens (D3). Two workers on the same domains need two names;
    /// default is `host:pid:random`, another for each run.
    #[must_use]
    pub fn holder(mut self, holder: &str) -> DomainWorker {
        self.holder = Some(holder.into());
        self
    }

    /// How long others wait for what it held, should it die (D4); default 30 s.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> DomainWorker {
        self.lease_ms = u64::try_from(lease.as_millis()).unwrap_or(u64::MAX);
        self
    }

    /// Domains at once; default 64.
    #[must_use]
    pub fn concurrency(mut self, domains: usize) -> DomainWorker {
        self.concurrency = domains;
        self
    }

    /// The waits between tries; default 1 s × 2^(n−1), at most an hour.
    #[must_use]
    pub fn backoff(mut self, backoff: Backoff) -> DomainWorker {
        self.backoff = backoff;
        self
    }

    /// How often a domain is looked at in which offsets wait behind someone else; default 1 s.
    #[must_use]
    pub fn look_every(mut self, look_every: Duration) -> DomainWorker {
        self.look_every = look_every;
        self
    }

    /// Works until the source has ended and everything that it offered has ended or is in other hands.
    pub async fn run<S, H, F, E>(self, source: S, handler: H) -> Result<Drained>
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
        mut source: S,
        handler: H,
        shutdown: impl Future<Output = ()>,
    ) -> Result<Drained>
    where
        S: Source,
        H: Fn(Work) -> F + Send + Sync + 'static,
        F: Future<Output = std::result::Result<(), E>> + Send + 'static,
        E: std::fmt::Display + Send + 'static,
    {
        // Drawn here, not when it was made: a worker may be cloned, and two under one name would share their leases.
        self.holder.get_or_insert_with(|| worker_name().into());
        self.check()?;
        let look_every_ms = u64::try_from(self.look_every.as_millis()).unwrap_or(u64::MAX).max(1);
        let (tell, mut ear) = unbounded_channel();
        // Whoever holds under a lease is told by its token; a holder's name is no part of it.
        let heart = Arc::new(Heart::start(String::new(), self.tenure.apart(), None).await?);
        let mut driver = Driver {
            desk: Desk::new(self.backoff, look_every_ms),
            worker: Arc::new(self),
            tell,
            handlers: HashMap::new(),
            heart,
            asked_at: HashMap::new(),
            kept: HashMap::new(),
            drained: Drained::default(),
        };
        let handler = Arc::new(handler);
        let (mut ended, mut stopping) = (false, false);
        tokio::pin!(shutdown);
        loop {
            let room = !ended && driver.desk.has_room(driver.worker.concurrency);
            let heard = tokio::select! {
                biased;
                () = &mut shutdown, if !stopping => {
                    (ended, stopping) = (true, true);
                    driver.desk.stop();
                    Vec::new()
                }
                turn = turn(&mut ear) => turn,
                offered = source.next(), if room => match offered {
                    Some((domain, offset)) => match bounds::key("domain", &domain) {
                        Ok(()) => vec![Heard::Happened(Happened::Offered { domain, offset })],
                        Err(invalid) => return Err(invalid.into()),
                    },
                    None => {
                        ended = true;
                        Vec::new()
                    }
                },
            };
            driver.turn(heard, &handler);
            if ended && driver.desk.is_empty() || stopping && driver.desk.at_rest() {
                return Ok(driver.drained);
            }
        }
    }

    fn check(&self) -> Result<()> {
        let domain: Arc<str> = "any".into();
        Acquire { domain, offset: 0, holder: self.holder.clone(), lease_ms: Some(self.lease_ms) }.check()?;
        self.backoff.check()?;
        Ok(bounds::within("concurrency", self.concurrency as u64, 1, bounds::BULK_MAX)?)
    }
}

/// What a driver hears from the tasks it started.
enum Heard {
    /// Something for the desk.
    Happened(Happened),
    /// The same, for a call that was sent at this instant and may have granted a lease.
    Granted(Happened, Moment),
    /// The lease on this domain under this token is lost, or could not be renewed in time.
    Over(Arc<str>, Token),
}

/// The leases of a worker, as the heart keeps them.
struct OfDomains;

impl Leases for OfDomains {
    type Key = (Arc<str>, Token);
    type Part = ();

    async fn beat(
        store: Arc<dyn Store>,
        _: String,
        keys: Vec<(Arc<str>, Token)>,
    ) -> std::result::Result<Vec<Fenced<Vec<()>>>, StoreError> {
        let beats = keys.into_iter().map(|(domain, token)| Held { domain, token }).collect();
        let lost = |refused| match refused {
            Refused::LeaseLost(reason) => reason,
            Refused::TokenMismatch => LostReason::Superseded,
            Refused::LeaseNotFound | Refused::BacklogOrdering { .. } => LostReason::Finished,
        };
        let answers = store.domain_heartbeat(beats).await?;
        Ok(answers.into_iter().map(|answer| answer.map(|_| Vec::new()).map_err(lost)).collect())
    }
}

/// A lease that is kept, and who waits for its loss.
struct Keeping {
    token: Token,
    /// Ends the keeping when it is dropped.
    _kept: Kept<OfDomains>,
    watch: AbortHandle,
}

impl Drop for Keeping {
    fn drop(&mut self) {
        self.watch.abort();
    }
}

async fn turn(heard: &mut UnboundedReceiver<Heard>) -> Vec<Heard> {
    let mut turn = Vec::new();
    heard.recv_many(&mut turn, TURN_MAX).await;
    turn
}

struct Driver {
    desk: Desk,
    worker: Arc<DomainWorker>,
    /// Bounded by the desk: of each domain one call and one handler are under way.
    tell: UnboundedSender<Heard>,
    handlers: HashMap<Arc<str>, AbortHandle>,
    /// Keeps the leases.
    heart: Arc<Heart<OfDomains>>,
    /// When what was granted was asked for, by our own clock, from before the store was asked (L5).
    asked_at: HashMap<Arc<str>, Moment>,
    kept: HashMap<Arc<str>, Keeping>,
    drained: Drained,
}

impl Driver {
    fn turn<H, F, E>(&mut self, heard: Vec<Heard>, handler: &Arc<H>)
    where
        H: Fn(Work) -> F + Send + Sync + 'static,
        F: Future<Output = std::result::Result<(), E>> + Send + 'static,
        E: std::fmt::Display + Send + 'static,
    {
        let mut actions = Vec::new();
        for heard in heard {
            let happened = match heard {
                Heard::Happened(happened) => happened,
                Heard::Granted(happened, asked_at) => {
                    if let Some(domain) = granted(&happened) {
                        self.asked_at.insert(domain.clone(), asked_at);
                    }
                    happened
                }
                Heard::Over(domain, token) => {
                    if self.desk.held(&domain) != Some(token) {
                        continue;
                    }
                    Happened::Lost { domain }
                }
            };
            self.count(&happened);
            let domain = happened.domain().clone();
            actions.extend(self.desk.step(happened));
            self.keep(domain);
        }
        let (mut asks, mut advances, mut succeeds, mut fails) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for action in actions {
            match action {
                Action::Ask(domain, offset) => asks.push((domain, offset)),
                Action::Advance(domain, token, next) => advances.push((domain, token, next)),
                Action::Succeed(domain, token) => succeeds.push((domain, token)),
                Action::Fail(domain, token) => fails.push((domain, token)),
                Action::Work(domain, offset, token) => self.work(Work { domain, offset, token }, handler),
                Action::Look(domain) => self.look(domain),
                Action::Rest(domain, token, ms) => self.later(ms, Happened::Rested { domain, token }),
                Action::Wait(domain, ms) => self.later(ms, Happened::Due { domain }),
                Action::Stop(domain) => {
                    if let Some(handler) = self.handlers.remove(&domain) {
                        handler.abort();
                    }
                }
            }
        }
        self.ask(asks);
        self.advance(advances);
        self.succeed(succeeds);
        self.fail(fails);
    }

    fn count(&mut self, happened: &Happened) {
        match happened {
            Happened::Advanced { answer: Some(Ok(_)), .. } => self.drained.succeeded += 1,
            Happened::Failed { answer: Some(Ok(Failed::RetryScheduled { .. })), .. } => self.drained.retried += 1,
            Happened::Failed { answer: Some(Ok(_)), .. } => self.drained.gave_up += 1,
            Happened::Lost { .. }
            | Happened::Advanced { answer: Some(Err(_)), .. }
            | Happened::Failed { answer: Some(Err(_)), .. } => self.drained.lost += 1,
            Happened::Worked { domain, .. } => drop(self.handlers.remove(domain)),
            _ => {}
        }
    }

    fn work<H, F, E>(&mut self, work: Work, handler: &Arc<H>)
    where
        H: Fn(Work) -> F + Send + Sync + 'static,
        F: Future<Output = std::result::Result<(), E>> + Send + 'static,
        E: std::fmt::Display + Send + 'static,
    {
        let (domain, offset, token) = (work.domain.clone(), work.offset, work.token);
        let running = tokio::spawn(handler(work));
        self.handlers.insert(domain.clone(), running.abort_handle());
        let tell = self.tell.clone();
        tokio::spawn(async move {
            let well = match running.await {
                Ok(Ok(())) => true,
                Ok(Err(error)) => {
                    tracing::debug!(%domain, offset, %error, "a try failed");
                    false
                }
                Err(error) => {
                    if error.is_panic() {
                        tracing::warn!(%domain, offset, "a handler panicked; its try failed");
                    }
                    false
                }
            };
            // An error means that the worker has ended.
            let _ = tell.send(Heard::Happened(Happened::Worked { domain, token, well }));
        });
    }

    /// Has the heart keep what is held in a domain now, and nothing else of it.
    fn keep(&mut self, domain: Arc<str>) {
        let Some(token) = self.desk.held(&domain) else {
            self.kept.remove(&domain);
            self.asked_at.remove(&domain);
            return;
        };
        if self.kept.get(&domain).is_some_and(|keeping| keeping.token == token) {
            return;
        }
        let span = Span::of(Duration::from_millis(self.worker.lease_ms));
        // A lease that was already ours has run for some time: it is renewed at once.
        let asked_at = self.asked_at.remove(&domain).unwrap_or_else(|| span.due(Moment::now()));
        let kept = self.heart.keep((domain.clone(), token), span, asked_at);
        let (hold, tell, of) = (kept.hold.clone(), self.tell.clone(), domain.clone());
        let watch = tokio::spawn(async move {
            hold.over().await;
            let _ = tell.send(Heard::Over(of, token));
        });
        self.kept.insert(domain, Keeping { token, _kept: kept, watch: watch.abort_handle() });
    }

    fn look(&self, domain: Arc<str>) {
        let (tenure, tell) = (self.worker.tenure.clone(), self.tell.clone());
        tokio::spawn(async move {
            let seen = async {
                let (info, now) = (tenure.domain(&domain).show().await?, tenure.now().await?);
                // One that was on record and no more, after a failover that lost it or a restore: nothing waits there.
                let gone = || DomainInfo {
                    name: domain.clone(),
                    created_at: now,
                    settings: Settings::default(),
                    lease: None,
                    backlog_len: 0,
                    backlog_head: None,
                    backlog_oldest_at: None,
                };
                Ok::<_, Error>(Some((info.unwrap_or_else(gone), now)))
            };
            let seen = tenure.outage.watch("looks at domains", seen).await.unwrap_or(None);
            let _ = tell.send(Heard::Happened(Happened::Looked { domain, seen }));
        });
    }

    fn later(&self, ms: u64, happened: Happened) {
        let tell = self.tell.clone();
        tokio::spawn(async move {
            tokio::time::sleep(Duration::from_millis(ms)).await;
            let _ = tell.send(Heard::Happened(happened));
        });
    }

    fn ask(&self, asks: Vec<(Arc<str>, u64)>) {
        if asks.is_empty() {
            return;
        }
        let asked_at = Moment::now();
        let (worker, tell) = (self.worker.clone(), self.tell.clone());
        tokio::spawn(async move {
            let acquire = |(domain, offset): &(Arc<str>, u64)| Acquire {
                domain: domain.clone(),
                offset: *offset,
                holder: worker.holder.clone(),
                lease_ms: Some(worker.lease_ms),
            };
            let answers = answered(
                worker
                    .tenure
                    .outage
                    .watch("domains", worker.tenure.domain_acquire_all(asks.iter().map(acquire).collect()))
                    .await,
                asks.len(),
            );
            for ((domain, offset), answer) in asks.into_iter().zip(answers) {
                let _ = tell.send(Heard::Granted(Happened::Asked { domain, offset, answer }, asked_at));
            }
        });
    }

    fn advance(&self, advances: Vec<(Arc<str>, Token, Option<u64>)>) {
        if advances.is_empty() {
            return;
        }
        let asked_at = Moment::now();
        let (worker, tell) = (self.worker.clone(), self.tell.clone());
        tokio::spawn(async move {
            let advance = |(domain, token, next): &(Arc<str>, Token, Option<u64>)| Advance {
                domain: domain.clone(),
                token: *token,
                next: *next,
                holder: worker.holder.clone(),
                lease_ms: Some(worker.lease_ms),
            };
            let sent = advances.iter().map(advance).collect();
            let answers = answered(
                worker.tenure.outage.watch("domains", worker.tenure.domain_advance_all(sent)).await,
                advances.len(),
            );
            for ((domain, ..), answer) in advances.into_iter().zip(answers) {
                let _ = tell.send(Heard::Granted(Happened::Advanced { domain, answer }, asked_at));
            }
        });
    }

    fn succeed(&self, succeeds: Vec<(Arc<str>, Token)>) {
        if succeeds.is_empty() {
            return;
        }
        let (worker, tell) = (self.worker.clone(), self.tell.clone());
        tokio::spawn(async move {
            let writes = succeeds.iter().map(|(domain, token)| Held { domain: domain.clone(), token: *token });
            let answers = answered(
                worker.tenure.outage.watch("domains", worker.tenure.domain_succeed_all(writes.collect())).await,
                succeeds.len(),
            );
            for ((domain, _), answer) in succeeds.into_iter().zip(answers) {
                let answer = answer.map(|answer| answer.map(|succeeded| Advanced { succeeded, next: None }));
                let _ = tell.send(Heard::Happened(Happened::Advanced { domain, answer }));
            }
        });
    }

    fn fail(&self, fails: Vec<(Arc<str>, Token)>) {
        if fails.is_empty() {
            return;
        }
        let (worker, tell) = (self.worker.clone(), self.tell.clone());
        tokio::spawn(async move {
            let writes = fails.iter().map(|(domain, token)| Held { domain: domain.clone(), token: *token });
            let answers = answered(
                worker.tenure.outage.watch("domains", worker.tenure.domain_fail_all(writes.collect())).await,
                fails.len(),
            );
            for ((domain, _), answer) in fails.into_iter().zip(answers) {
                let _ = tell.send(Heard::Happened(Happened::Failed { domain, answer }));
            }
        });
    }
}

/// The domain in which something was newly acquired.
fn granted(happened: &Happened) -> Option<&Arc<str>> {
    let (domain, answer) = match happened {
        Happened::Asked { domain, answer, .. } => (domain, (*answer)?),
        Happened::Advanced { domain, answer } => (domain, (*answer)?.ok()?.next?.1),
        _ => return None,
    };
    matches!(answer, Ok(Acquired::Acquired { .. })).then_some(domain)
}

/// An answer for each, or none from a store that did not answer.
fn answered<T>(answers: Result<Vec<Answer<T>>>, count: usize) -> Vec<Option<Answer<T>>> {
    match answers {
        Ok(answers) => answers.into_iter().map(Some).collect(),
        Err(_) => (0..count).map(|_| None).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Change, State, offsets};
    use super::*;
    use std::sync::Mutex;
    use std::sync::atomic::{AtomicU64, Ordering};
    use tenure_core::Time;
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
        assert_eq!(drained, Drained { succeeded: 2_000, ..Drained::default() });
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
        assert_eq!((drained.succeeded, drained.gave_up), (300, 0));
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
        assert_eq!((drained.succeeded, drained.retried, drained.gave_up), (2, 3, 1));
        assert_eq!(tries.load(Ordering::SeqCst), 4);
        assert_eq!(tenure.domain("a").try_acquire(2).await.unwrap(), Acquired::AlreadyFailed);
    }

    #[tokio::test(start_paused = true)]
    async fn d4_what_a_dead_holder_left_is_taken_over_and_order_is_kept() {
        let clock = Clock::manual(Time(0));
        let tenure = Tenure::on(MemoryStore::with_clock(clock.clone()));
        let dead = tenure.domain("a").holder("dead").lease(Duration::from_secs(1));
        dead.try_acquire(1).await.unwrap();
        dead.try_acquire(2).await.unwrap();
        clock.set(Time(1_000_000));
        let seen = Seen::default();
        let worker = tenure.domain_worker().holder("alive").lease(Duration::from_secs(60));
        worker.run(offsets([("a", 3)]), noting(&seen)).await.unwrap();
        let order: Vec<u64> = seen.lock().unwrap().iter().map(|(_, offset)| *offset).collect();
        assert_eq!(order, [1, 2, 3]);
        assert!(tenure.domains(None, Some(State::Blocked), 10).await.unwrap().items.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a12_a_handler_whose_lease_is_lost_is_stopped() {
        let tenure = in_memory().await;
        let worker = tenure.domain_worker().holder("w").lease(Duration::from_millis(300));
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
        assert_eq!((drained.succeeded, drained.lost), (0, 1));
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
        tenure.domain("a").change(Change::default()).await.unwrap();
        let drained = tenure.domain_worker().run_until(items, handler, shutdown).await.unwrap();
        assert_eq!(drained.succeeded, 1, "nothing more was begun");
        assert_eq!(tenure.domain("a").show().await.unwrap().unwrap().lease, None);
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
