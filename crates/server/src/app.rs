//! What every route works with.

use crate::refused::Refused;
use axum::extract::{ConnectInfo, Request};
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;
use tenure::{Actor, Claim, Claims, Ending, Tenure, pipeline};
use tenure_wire::queue::{reply, request};
use tenure_wire::{Kind, Problem};
use tokio::sync::{Mutex, Semaphore, oneshot, watch};
use tokio::time::Instant;

/// How long a waiting claim goes without asking whether anyone still waits for it: the library looks again as often.
const WAIT_SLICE: Duration = Duration::from_secs(1);

/// How long what was found out about the store's readiness is told again: a write is tried no more often.
const READY_FOR: Duration = Duration::from_secs(1);

/// What can be set about the API.
#[derive(Clone, Debug)]
pub struct Options {
    /// How long a request may take, beyond the `wait_ms` of a claim.
    pub request_timeout: Duration,
    /// How long the head of a request may take to arrive, and a kept connection may lie idle.
    pub head_timeout: Duration,
    /// How long a caller may take none of its answer before the connection is cut.
    pub write_timeout: Duration,
    /// Connections served at once; more wait to be accepted.
    pub connections_max: usize,
    /// Claims that may wait for work at once (`wait_ms`): fewer than connections, so that heartbeats, endings and
    /// `/healthz` always find one. A claim beyond looks once; if there is nothing, it is refused as `unavailable`.
    pub waiting_max: usize,
    /// How long a bulk action begins new steps; what is left then is told by a cursor.
    pub bulk_time: Duration,
    /// How long requests under way may take once the server is asked to stop.
    pub grace: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Options {
            request_timeout: Duration::from_secs(30),
            head_timeout: Duration::from_secs(10),
            // As long as a request: an answer of 16 MiB crosses any line that is worth it by then.
            write_timeout: Duration::from_secs(30),
            // Below the 1,024 open files that a process may commonly have.
            connections_max: 900,
            // A third of the connections is left for what does not wait.
            waiting_max: 600,
            // With the last step still well within the time of a request.
            bulk_time: Duration::from_secs(15),
            grace: Duration::from_secs(10),
        }
    }
}

/// When the store was last asked whether it accepts writes, and what it said.
type Readiness = (Instant, Result<(), Problem>);

/// The state of the router.
#[derive(Clone)]
pub(crate) struct App {
    pub(crate) tenure: Tenure,
    pub(crate) options: Options,
    stopping: watch::Receiver<bool>,
    /// A permit for each claim that may wait.
    waiting: Arc<Semaphore>,
    ready: Arc<Mutex<Option<Readiness>>>,
    pub(crate) openapi: Arc<str>,
    /// Who asks, of one request.
    peer: Option<SocketAddr>,
}

impl App {
    pub(crate) fn new(tenure: Tenure, options: Options, stopping: watch::Receiver<bool>, openapi: String) -> App {
        // However few the connections are, a third of them is for what does not wait.
        let others = options.connections_max.div_ceil(3);
        let waiting = options.waiting_max.min(options.connections_max - others);
        let (waiting, ready) = (Arc::new(Semaphore::new(waiting)), Arc::default());
        App { tenure, options, stopping, waiting, ready, openapi: openapi.into(), peer: None }
    }

    /// The state for one request.
    pub(crate) fn asked_by(self, request: &Request) -> App {
        let peer = request.extensions().get::<ConnectInfo<SocketAddr>>().map(|ConnectInfo(peer)| *peer);
        App { peer, ..self }
    }

    /// The library for an operator's act: what it does names whoever asked by the address it asked from, and by nothing
    /// that it sent (L8). A router that is not told of addresses, as behind a socket of this machine, says `http:local`.
    pub(crate) fn operator(&self) -> Tenure {
        self.tenure.acting_as(match self.peer {
            Some(peer) => Actor::of(format_args!("http:{}", peer.ip().to_canonical())),
            None => Actor::of(format_args!("http:local")),
        })
    }

    /// Whether the store accepts writes: asked once for all who ask within a second.
    pub(crate) async fn ready(&self) -> Result<(), Refused> {
        let mut known = self.ready.lock().await;
        if let Some((at, said)) = &*known
            && at.elapsed() < READY_FOR
        {
            return Ok(said.clone()?);
        }
        let asked = tokio::time::timeout(self.options.request_timeout, self.tenure.ready()).await;
        let said = asked.map_or_else(
            |_| Err(Problem::new(Kind::Unavailable, "unavailable", "the store does not answer in time")),
            |said| said.map_err(Problem::from),
        );
        *known = Some((Instant::now(), said.clone()));
        Ok(said?)
    }

    /// Asks the library, within the time a request may take.
    pub(crate) async fn ask<T>(&self, call: impl Future<Output = tenure::Result<T>>) -> Result<T, Refused> {
        self.ask_within(Duration::ZERO, call).await
    }

    async fn ask_within<T>(&self, wait: Duration, call: impl Future<Output = tenure::Result<T>>) -> Result<T, Refused> {
        match tokio::time::timeout(wait + self.options.request_timeout, call).await {
            Ok(answer) => Ok(answer.map_err(Problem::from)?),
            Err(_) => Err(Problem::new(
                Kind::UnknownOutcome,
                "unknown_outcome",
                "the store did not answer in time: this may or may not have been carried out",
            )
            .into()),
        }
    }

    /// Carries a bulk action out, step by step, as long as its time lasts.
    pub(crate) async fn operate(&self, bulk: request::Bulk) -> Result<reply::Bulk, Refused> {
        let request::Bulk { filter, action, mut before } = bulk;
        let deadline = Instant::now() + self.options.bulk_time;
        let mut total = tenure::Bulk::default();
        let mut begun = false;
        let tenure = self.operator();
        loop {
            let step = match self.ask(tenure.verbs().operate_step(filter.clone(), action.clone(), before)).await {
                Ok(step) => step,
                // A refusal says that nothing was changed. Here something was: it is told, and whoever goes on at the
                // cursor meets what went wrong.
                Err(_) if begun => return Ok(reply::Bulk { bulk: total, next_cursor: before }),
                Err(refused) => return Err(refused),
            };
            begun = true;
            total.done += step.bulk.done;
            total.passed_over += step.bulk.passed_over;
            before = step.next;
            if before.is_none() || Instant::now() >= deadline || *self.stopping.borrow() {
                return Ok(reply::Bulk { bulk: total, next_cursor: before });
            }
        }
    }

    /// Claims jobs for a caller who may hang up while waiting.
    pub(crate) async fn claim(&self, claim: Claim, wait: Duration) -> Result<Claims, Refused> {
        let (tenure, owner) = (self.tenure.clone(), claim.owner.clone());
        let give_back = |unheard: Claims| async move {
            let give_back = |job: tenure::ClaimedJob| Ending {
                job: job.id,
                owner: owner.clone(),
                token: job.token,
                act: tenure::Act::Release,
            };
            let endings: Vec<Ending> = unheard.jobs.into_iter().map(give_back).collect();
            if !endings.is_empty() {
                tenure.verbs().finish_all(endings).await?;
            }
            Ok(())
        };
        let tenure = self.tenure.clone();
        let look = move |slice| {
            let (tenure, claim) = (tenure.clone(), claim.clone());
            async move { tenure.verbs().claim_within(claim, slice).await }
        };
        self.wait(wait, look, |claims| claims.jobs.is_empty(), give_back).await
    }

    /// Claims units for a caller who may hang up while waiting.
    pub(crate) async fn claim_units(
        &self,
        claim: pipeline::Claim,
        wait: Duration,
    ) -> Result<pipeline::Claims, Refused> {
        let (worker, owner) = (self.tenure.stage_worker(), claim.owner.clone());
        let give_back = |unheard: pipeline::Claims| async move {
            let mut given_back = Ok(());
            for unit in unheard.units {
                let key = pipeline::UnitKey { run: unit.run, stage: unit.stage, segment: unit.segment };
                given_back = worker.release(key, &owner, unit.token).await.map(drop).and(given_back);
            }
            given_back
        };
        let worker = self.tenure.stage_worker();
        let look = move |slice| {
            let (worker, claim) = (worker.clone(), claim.clone());
            async move { worker.claim_within(claim, slice).await }
        };
        self.wait(wait, look, |claims| claims.units.is_empty(), give_back).await
    }

    /// Looks for work as long as someone waits for the answer and the server is not stopping, apart from the request, so
    /// that a caller who hangs up does not cut a claim in half: what was claimed for nobody is given back at once. Where too
    /// many wait already it is not waited; who finds nothing then is told so, for with an empty answer he would ask again
    /// at once.
    async fn wait<T, L, G>(
        &self,
        wait: Duration,
        look: impl Fn(Duration) -> L + Send + 'static,
        empty: fn(&T) -> bool,
        give_back: impl FnOnce(T) -> G + Send + 'static,
    ) -> Result<T, Refused>
    where
        T: Send + 'static,
        L: Future<Output = tenure::Result<T>> + Send,
        G: Future<Output = tenure::Result<()>> + Send,
    {
        let room = if wait.is_zero() { None } else { self.waiting.try_acquire().ok() };
        let crowded = !wait.is_zero() && room.is_none();
        let wait = if crowded { Duration::ZERO } else { wait };
        let (answer, answered) = oneshot::channel();
        let stopping = self.stopping.clone();
        tokio::spawn(async move {
            let deadline = Instant::now() + wait;
            let claims = loop {
                let claims = look(deadline.saturating_duration_since(Instant::now()).min(WAIT_SLICE)).await;
                let found = !claims.as_ref().is_ok_and(empty);
                if found || Instant::now() >= deadline || *stopping.borrow() || answer.is_closed() {
                    break claims;
                }
            };
            // If this fails too, the leases run out by themselves.
            if let Err(Ok(unheard)) = answer.send(claims)
                && let Err(error) = give_back(unheard).await
            {
                tracing::warn!(%error, "work claimed for a caller who hung up waits for its lease to run out");
            }
        });
        let broken = || tenure::StoreError::broken("the claim ended without an answer").into();
        let claims = self.ask_within(wait, async { answered.await.unwrap_or_else(|_| Err(broken())) }).await?;
        if crowded && empty(&claims) {
            let message = "too many claims wait for work already, and there is none now: ask again in a moment, or with \
                           `wait_ms` 0";
            return Err(Refused::from(Problem::new(Kind::Unavailable, "unavailable", message)).closing());
        }
        Ok(claims)
    }
}
