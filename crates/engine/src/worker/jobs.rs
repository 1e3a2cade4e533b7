//! Jobs, as a worker has them.

use super::context::{Context, Terms};
use super::face::{Ask, Claimed, Face, Offer, Standing};
use super::handler::{Handlers, Task};
use super::outcome::{self, Outcome};
use super::parts::{Beside, Part};
use super::{QueueShare, Report, Worker};
use crate::Result;
use crate::clock::Moment;
use crate::heart::{Leases, Span};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tenure_core::queue::{Act, Beat, Claim, ClaimedJob, Ended, Ending, Grants, JobId, Start, Status};
use tenure_core::retry::Retry;
use tenure_core::{Invalid, Token, bounds};
use tenure_store::{Fenced, Store, StoreError};

/// How long what is known of limits is believed. A prefetched job too many costs fairness, never W.
const LIMITS_KNOWN_FOR: Duration = Duration::from_secs(5);

/// The face of a worker of jobs.
#[derive(Default)]
pub struct Jobs {
    pub(super) handlers: Handlers,
    pub(super) kinds: Option<Vec<String>>,
    pub(super) lease: Duration,
    /// The queues it serves.
    pub(super) queues: Vec<String>,
    /// Whether it claims ahead of free slots.
    pub(super) prefetches: bool,
    /// What works beside them.
    pub(super) beside: Beside,
    /// Whether upkeep runs beside the work.
    pub(super) upkeep: bool,
    pub(super) limits: Mutex<Option<(Moment, bool)>>,
}

/// One lease over all the jobs of a claim.
impl Leases for ClaimedJob {
    type Key = Token;
    type Part = JobId;

    async fn beat(
        store: Arc<dyn Store>,
        owner: String,
        tokens: Vec<Token>,
    ) -> std::result::Result<Vec<Fenced<Vec<JobId>>>, StoreError> {
        let beats = tokens.into_iter().map(|token| Beat::shared(owner.clone(), token)).collect();
        let answers = store.heartbeat(beats).await?;
        Ok(answers.into_iter().map(|answer| answer.map(|beaten| beaten.cancel_requested)).collect())
    }
}

impl Claimed for ClaimedJob {
    fn key(&self) -> Token {
        self.token
    }

    fn part(&self) -> JobId {
        self.id
    }

    fn token(&self) -> Token {
        self.token
    }

    fn timeout_ms(&self) -> Option<u64> {
        self.timeout_ms
    }

    fn queue(&self) -> &str {
        &self.queue
    }
}

impl Face for Jobs {
    type Unit = ClaimedJob;
    type Done = Option<String>;
    type Act = Act;
    type Ending = Ending;
    type Ended = Ended;

    const CLAIMS: &'static str = "claims";

    fn prepare(worker: &mut Worker) -> Result<()> {
        let Worker { face, plan, .. } = worker;
        if plan.queues.is_empty() {
            plan.queues = face.handlers.queues().iter().map(|name| QueueShare::from(*name).0).collect();
        }
        bounds::within("queues", plan.queues.len() as u64, 1, bounds::CLAIM_QUEUES_MAX)?;
        for queue in &plan.queues {
            bounds::name("queue", &queue.name)?;
        }
        bounds::within("prefetch", plan.prefetch as u64, 0, super::CONCURRENCY_MAX)?;
        bounds::within("lease_ms", super::ms(face.lease), bounds::LEASE_MS.0, bounds::LEASE_MS.1)?;
        if let Some(kind) = face.handlers.doubled() {
            return Err(Invalid::new(bounds::Code::OutOfBounds, "handlers", "one for each kind", kind).into());
        }
        let known = face.handlers.kinds();
        if known.as_ref().is_some_and(Vec::is_empty) {
            return Err(super::no_handlers());
        }
        face.kinds = face.kinds.take().or(known);
        for kind in face.kinds.iter().flatten() {
            bounds::name("kind", kind)?;
        }
        if let Some(kinds) = &face.kinds {
            bounds::within("kinds", kinds.len() as u64, 1, bounds::CLAIM_KINDS_MAX)?;
        }
        face.queues = plan.queues.iter().map(|queue| queue.name.clone()).collect();
        face.prefetches = plan.prefetch > 0;
        Ok(())
    }

    fn wakes(&self) -> Vec<String> {
        self.queues.clone()
    }

    fn span(&self, _: &ClaimedJob) -> Span {
        Span::of(self.lease)
    }

    async fn claim(&self, terms: &Terms, ask: Ask) -> Result<Offer<ClaimedJob>> {
        let claim = Claim {
            queues: ask.queues,
            kinds: self.kinds.clone(),
            owner: terms.owner.clone(),
            max: ask.max,
            lease_ms: super::ms(self.lease),
            grants: Grants::Shared { started: ask.begin },
        };
        let mut claims = terms.tenure.store.claim(claim).await?;
        for job in &mut claims.jobs {
            job.timeout_ms = job.timeout_ms.or(terms.timeout_ms);
        }
        let limited = !self.prefetches || self.limited(terms).await;
        let again_in = claims.again_in_ms.map(Duration::from_millis);
        Ok(Offer { units: claims.jobs, again_in, limited, held: false })
    }

    async fn start(&self, terms: &Terms, token: Token, count: u32) -> std::result::Result<bool, StoreError> {
        let start = Start { owner: terms.owner.clone(), token, count };
        Ok(terms.tenure.store.start(start).await?.is_ok())
    }

    fn log_span(cx: &Context) -> tracing::Span {
        tracing::info_span!("job", id = %cx.id(), kind = cx.job().kind, attempt = cx.attempt())
    }

    fn begin(self: &Arc<Self>, cx: Context) -> Option<Task<Option<String>>> {
        self.handlers.begin(cx)
    }

    fn act(outcome: Outcome<Option<String>>, chance: f64) -> Option<Act> {
        Some(match outcome {
            Ok(result) => Act::Complete { result },
            Err(stop) => outcome::act(stop, chance),
        })
    }

    fn timed_out(error: String, chance: f64) -> Option<Act> {
        Some(Act::Fail { error, retry: Retry::TimedOut { chance } })
    }

    fn ending(owner: &str, token: Token, job: JobId, act: Act) -> Ending {
        Ending { job, owner: owner.to_owned(), token, act }
    }

    fn check(ending: &mut Ending) -> std::result::Result<(), Invalid> {
        ending.check()
    }

    fn act_of(ending: &mut Ending) -> &mut Act {
        &mut ending.act
    }

    async fn finish(&self, terms: &Terms, endings: Vec<Ending>) -> std::result::Result<Vec<Fenced<Ended>>, StoreError> {
        terms.tenure.store.finish(endings).await
    }

    fn count(report: &mut Report, ending: &Ending, answer: &Fenced<Ended>) {
        let counted = match (&ending.act, answer) {
            (_, Err(_)) => &mut report.refused,
            (Act::Complete { .. }, Ok(_)) => &mut report.completed,
            (_, Ok(Ended { status: Status::Failed, .. })) => &mut report.failed,
            (Act::Fail { .. }, Ok(_)) => &mut report.retried,
            (Act::Snooze { .. }, Ok(_)) => &mut report.snoozed,
            (Act::Release, Ok(_)) => &mut report.released,
        };
        *counted += 1;
    }
}

impl Standing for Jobs {
    fn beside(&mut self) -> Vec<Part> {
        self.beside.take()
    }

    fn is_idle(&self) -> bool {
        self.handlers.is_empty()
    }

    fn keeps_up(&self) -> bool {
        self.upkeep
    }
}

impl Jobs {
    /// Whether a limit is set on any queue of the worker, or on the engine; believed for a while.
    async fn limited(&self, terms: &Terms) -> bool {
        let believed = *self.limits.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((at, limited)) = believed
            && at.until(terms.around().now()) < LIMITS_KNOWN_FOR
        {
            return limited;
        }
        // With the store away nothing is prefetched either.
        let limited = self.any_limit(&*terms.tenure.store).await.unwrap_or(true);
        *self.limits.lock().unwrap_or_else(PoisonError::into_inner) = Some((terms.around().now(), limited));
        limited
    }

    async fn any_limit(&self, store: &dyn Store) -> std::result::Result<bool, StoreError> {
        if store.limit().await?.is_some() {
            return Ok(true);
        }
        for queue in &self.queues {
            let Some(info) = store.queue(queue).await? else { continue };
            if info.settings.max_running.is_some() || info.settings.max_running_per_key.is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }
}
