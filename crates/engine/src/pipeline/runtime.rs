//! A worker with handlers: stages and segments as the face of a [`Worker`].
//!
//! Always true, beside what holds for every worker:
//! - outputs that were recorded whole and are still valid are not made again (P7);
//! - a commit action runs last: after the outputs are recorded, while the lease is held.

use super::artifacts::{ArtifactStore, Folder, Validity, validate};
use super::context::StageContext;
use super::{Act, Beat, Claim, ClaimedUnit, Ended, Ending, NewSegment, Refusal, Sealed, UnitKey};
use crate::heart::{Leases, Span};
use crate::queue::{to_json, to_json_kept};
use crate::worker::context::Terms;
use crate::worker::face::{Ask, Claimed, Face, Offer, Standing};
use crate::worker::handler::Task;
use crate::worker::parts::Part;
use crate::worker::{Context, Report, Worker, ms, no_handlers};
use crate::{Outcome, QueueShare, Result, Stop, Tenure, worker_name};
use futures_util::future::{BoxFuture, try_join_all};
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::bounds::Code;
use tenure_core::{Invalid, LostReason, Token};
use tenure_store::{Fenced, Store, StoreError, wake_of_pipeline};

type Running<T> = BoxFuture<'static, Outcome<T>>;
type Handler = Arc<dyn Fn(StageContext) -> Running<Option<String>> + Send + Sync>;
type Splitter = Arc<dyn Fn(StageContext) -> Running<Vec<NewSegment>> + Send + Sync>;
type Commit = Arc<dyn Fn(StageContext, Option<String>) -> Running<()> + Send + Sync>;

/// A segment that a split asks for.
#[derive(Clone, Debug)]
pub struct Segment<T> {
    /// Its name, unlike any other of the stage.
    pub name: String,
    /// What it works on.
    pub input: T,
}

impl<T> Segment<T> {
    /// A segment of this name.
    pub fn new(name: impl Into<String>, input: T) -> Segment<T> {
        Segment { name: name.into(), input }
    }
}

#[derive(Clone, Default)]
struct Of {
    work: Option<Handler>,
    split: Option<Splitter>,
    segment: Option<Handler>,
    commit: Option<Commit>,
}

/// A worker for the stages of a pipeline, being set up. Made by [`Tenure::stages`].
pub type Stages = Worker<Units>;

/// Runs that are advanced between two rounds of a worker that drains.
const RUNS_PER_ROUND: u32 = 100;

/// The face of a worker of stages and segments.
#[derive(Clone)]
pub struct Units {
    pipeline: String,
    lease: Option<Duration>,
    artifacts: Arc<dyn ArtifactStore>,
    of: BTreeMap<String, Of>,
}

impl Tenure {
    /// A worker for stages of `pipeline`, to be set up.
    #[must_use]
    pub fn stages(&self, pipeline: impl Into<String>) -> Stages {
        let artifacts = Arc::new(Folder::new("artifacts"));
        Worker::of(
            self,
            worker_name(),
            Units { pipeline: pipeline.into(), lease: None, artifacts, of: BTreeMap::new() },
        )
    }
}

fn input<T: DeserializeOwned>(cx: &StageContext) -> Outcome<T> {
    let wrong = |error| Stop::from(format!("the input does not read as what {} expects: {error}", cx.stage()));
    serde_json::from_str(&cx.unit().input).map_err(wrong)
}

fn handler<I, T, F, Fut>(handler: F) -> Handler
where
    I: DeserializeOwned + Send + 'static,
    T: Serialize + Send + 'static,
    F: Fn(StageContext, I) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Outcome<T>> + Send + 'static,
{
    let handler = Arc::new(handler);
    Arc::new(move |cx| {
        let handler = handler.clone();
        Box::pin(async move {
            let input = input::<I>(&cx)?;
            Ok(to_json_kept("output", &handler(cx, input).await?)?)
        })
    })
}

impl Stages {
    /// Does a stage, or joins it once it was split, with this `async fn(StageContext, Input) -> Outcome<Output>`. The
    /// output is the input of the stages that need it.
    #[must_use]
    pub fn handle<I, T, F, Fut>(mut self, stage: impl Into<String>, work: F) -> Stages
    where
        I: DeserializeOwned + Send + 'static,
        T: Serialize + Send + 'static,
        F: Fn(StageContext, I) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Outcome<T>> + Send + 'static,
    {
        self.face.of.entry(stage.into()).or_default().work = Some(handler(work));
        self
    }

    /// Cuts a segmented stage into segments (P6), before any of its work is done.
    #[must_use]
    pub fn split<I, T, F, Fut>(mut self, stage: impl Into<String>, split: F) -> Stages
    where
        I: DeserializeOwned + Send + 'static,
        T: Serialize + Send + 'static,
        F: Fn(StageContext, I) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Outcome<Vec<Segment<T>>>> + Send + 'static,
    {
        let split = Arc::new(split);
        self.face.of.entry(stage.into()).or_default().split = Some(Arc::new(move |cx| {
            let split = split.clone();
            Box::pin(async move {
                let input = input::<I>(&cx)?;
                let segments = split(cx, input).await?;
                let one = |segment: Segment<T>| {
                    Ok(NewSegment { name: segment.name, input: Some(to_json("segments", &segment.input)?) })
                };
                segments.into_iter().map(one).collect()
            })
        }));
        self
    }

    /// Does each segment of a split stage, alone.
    #[must_use]
    pub fn segment<I, T, F, Fut>(mut self, stage: impl Into<String>, work: F) -> Stages
    where
        I: DeserializeOwned + Send + 'static,
        T: Serialize + Send + 'static,
        F: Fn(StageContext, I) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Outcome<T>> + Send + 'static,
    {
        self.face.of.entry(stage.into()).or_default().segment = Some(handler(work));
        self
    }

    /// The commit action of a stage: publish, upload, delete. Runs last, with the stage's output, after all outputs are
    /// recorded and while the lease is held; again after a crash in its midst, so it must be idempotent (P7).
    #[must_use]
    pub fn commit<T, F, Fut>(mut self, stage: impl Into<String>, commit: F) -> Stages
    where
        T: DeserializeOwned + Send + 'static,
        F: Fn(StageContext, T) -> Fut + Send + Sync + 'static,
        Fut: Future<Output = Outcome<()>> + Send + 'static,
    {
        let commit = Arc::new(commit);
        self.face.of.entry(stage.into()).or_default().commit = Some(Arc::new(move |cx, output| {
            let commit = commit.clone();
            Box::pin(async move {
                let output = serde_json::from_str(output.as_deref().unwrap_or("null"));
                let wrong = |error| Stop::from(format!("the output does not read as what the commit expects: {error}"));
                commit(cx, output.map_err(wrong)?).await
            })
        }));
        self
    }

    /// Gives a stage a share of the worker by a weight or a limit of its own; without, all stages that have handlers are
    /// alike.
    #[must_use]
    pub fn share(mut self, stage: QueueShare) -> Stages {
        self.plan.share(stage.0);
        self
    }

    /// How long a lease lasts between heartbeats, instead of what each stage says.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Stages {
        self.face.lease = Some(lease);
        self
    }

    /// As a part of a worker of jobs.
    pub(crate) fn part(self) -> Part {
        Box::new(move |shared| {
            let worker = shared.adopt(self);
            Box::pin(async move {
                let run = |worker: Stages| worker.run_until_either(shared.leaving(), shared.leaving_now());
                if !shared.drain {
                    return run(worker).await;
                }
                // Nobody else may make `READY` what follows from what is done here.
                let (orchestrator, mut total) = (shared.tenure().orchestrator(), Report::default());
                loop {
                    let report = run(worker.clone()).await?;
                    total += report;
                    let advanced = orchestrator.advance(RUNS_PER_ROUND).await?;
                    if report == Report::default() && advanced.runs + advanced.retried == 0 {
                        return Ok(total);
                    }
                }
            })
        })
    }

    /// Where artifacts are kept; by default the folder `artifacts`.
    #[must_use]
    pub fn artifacts(mut self, artifacts: impl ArtifactStore) -> Stages {
        self.face.artifacts = Arc::new(artifacts);
        self
    }
}

impl Leases for ClaimedUnit {
    type Key = (UnitKey, Token);
    type Part = ();

    async fn beat(
        store: Arc<dyn Store>,
        owner: String,
        keys: Vec<(UnitKey, Token)>,
    ) -> std::result::Result<Vec<Fenced<Vec<()>>>, StoreError> {
        let beats = keys.into_iter().map(|(unit, token)| Beat::new(unit, &owner, token)).collect();
        let answers = store.beat_units(beats).await?;
        Ok(answers.into_iter().map(|answer| answer.map(|_| Vec::new())).collect())
    }
}

impl Claimed for ClaimedUnit {
    fn key(&self) -> (UnitKey, Token) {
        (ClaimedUnit::key(self), self.token)
    }

    fn part(&self) {}

    fn token(&self) -> Token {
        self.token
    }

    fn queue(&self) -> &str {
        &self.stage
    }
}

impl Units {
    fn claim_of(&self, owner: &str, stages: Vec<String>, max: u32) -> Claim {
        let (pipeline, owner) = (self.pipeline.clone(), owner.to_owned());
        Claim { pipeline, stages, owner, max, lease_ms: self.lease.map(ms) }
    }
}

impl Standing for Units {}

impl Face for Units {
    type Unit = ClaimedUnit;
    type Done = Act;
    type Act = Act;
    type Ending = Ending;
    type Ended = Ended;

    const CLAIMS: &'static str = "stages";

    fn prepare(worker: &mut Stages) -> Result<()> {
        let Worker { face, plan, terms, .. } = worker;
        if face.of.is_empty() {
            return Err(no_handlers());
        }
        if let Some(share) = plan.queues.iter().find(|share| !face.of.contains_key(&share.name)) {
            return Err(Invalid::new(Code::OutOfBounds, "share", "a stage that has a handler", &share.name).into());
        }
        for stage in face.of.keys() {
            if plan.queues.iter().all(|share| share.name != *stage) {
                plan.share(QueueShare::new(stage).0);
            }
        }
        Ok(face.claim_of(&terms.owner, face.of.keys().cloned().collect(), 1).check()?)
    }

    fn wakes(&self) -> Vec<String> {
        vec![wake_of_pipeline(&self.pipeline)]
    }

    fn span(&self, unit: &ClaimedUnit) -> Span {
        Span::of(Duration::from_millis(unit.lease_ms))
    }

    async fn claim(&self, terms: &Terms, ask: Ask) -> Result<Offer<ClaimedUnit>> {
        let claims = terms.tenure.stage_worker().claim(self.claim_of(&terms.owner, ask.queues, ask.max)).await?;
        Ok(Offer { units: claims.units, again_in: None, limited: true, held: false })
    }

    fn log_span(cx: &Context<ClaimedUnit>) -> tracing::Span {
        let unit = cx.unit();
        tracing::info_span!("stage", unit = %unit.key(), attempt = unit.attempt)
    }

    fn begin(self: &Arc<Self>, cx: Context<ClaimedUnit>) -> Option<Task<Act>> {
        let of = self.of.get(&cx.unit().stage).cloned().unwrap_or_default();
        Some(Task::spawn(done(of, StageContext::new(cx, self.artifacts.clone()))))
    }

    fn act(outcome: Outcome<Act>, chance: f64) -> Option<Act> {
        Some(outcome.unwrap_or_else(|stop| match stop {
            Stop::Release => Act::Release,
            failed => {
                let (error, retry) = failed.failure(chance);
                Act::Fail { error, retry }
            }
        }))
    }

    fn ending(owner: &str, (unit, token): (UnitKey, Token), (): (), act: Act) -> Ending {
        Ending { unit, owner: owner.to_owned(), token, act }
    }

    fn check(ending: &mut Ending) -> std::result::Result<(), Invalid> {
        ending.check()
    }

    fn act_of(ending: &mut Ending) -> &mut Act {
        &mut ending.act
    }

    async fn finish(&self, terms: &Terms, endings: Vec<Ending>) -> std::result::Result<Vec<Fenced<Ended>>, StoreError> {
        let answers = try_join_all(endings.into_iter().map(|ending| terms.tenure.store.finish_unit(ending))).await?;
        let lost = |refusal| match refusal {
            Refusal::Lost(reason) => reason,
            // Nobody is asked to split what cannot be split.
            Refusal::NotSegmented | Refusal::AlreadySplit => LostReason::Unknown,
        };
        Ok(answers.into_iter().map(|answer| answer.map_err(lost)).collect())
    }

    fn count(report: &mut Report, ending: &Ending, answer: &Fenced<Ended>) {
        let counted = match (&ending.act, answer) {
            (_, Err(_)) => &mut report.refused,
            (Act::Complete { record, .. }, Ok(_)) => {
                // What this attempt made it recorded under its own token.
                report.skipped += u64::from(record.as_ref().is_some_and(|record| record.token != ending.token));
                &mut report.completed
            }
            (Act::Split { .. }, Ok(_)) => &mut report.split,
            (Act::Fail { .. }, Ok(_)) => &mut report.failed,
            (Act::Release, Ok(_)) => &mut report.released,
        };
        *counted += 1;
    }
}

/// Does a unit; what to write then.
async fn done(of: Of, cx: StageContext) -> Outcome<Act> {
    let unit = cx.unit();
    let fingerprint = match &unit.record {
        Some(_) => Some(cx.fingerprint().await?),
        None => None,
    };
    if let Some(output) = still_valid(&cx, fingerprint.as_deref()).await? {
        commit(&cx, &of, &output).await?;
        return Ok(Act::Complete { output, record: unit.record.clone() });
    }
    let splits = unit.segmented && !unit.join && unit.segment.is_none();
    if let Some(split) = of.split.as_ref().filter(|_| splits) {
        return Ok(Act::Split { segments: split(cx.clone()).await? });
    }
    let handler = if unit.segment.is_some() { of.segment.as_ref() } else { of.work.as_ref() };
    // Claimed for a part of the stage that this worker does not know.
    let Some(handler) = handler else { return Err(Stop::Release) };
    let output = handler(cx.clone()).await?;
    let made = cx.made(None);
    if made.artifacts.is_empty() && of.commit.is_none() {
        return Ok(Act::Complete { output, record: None });
    }
    let input = match fingerprint {
        Some(fingerprint) => fingerprint,
        None => cx.fingerprint().await?,
    };
    let sealed = Sealed { input, output: output.clone() };
    if of.commit.is_some() {
        cx.record(Some(sealed.clone())).await?;
        commit(&cx, &of, &output).await?;
    }
    Ok(Act::Complete { output, record: Some(cx.made(Some(sealed))) })
}

async fn commit(cx: &StageContext, of: &Of, output: &Option<String>) -> Outcome<()> {
    match of.commit.as_ref().filter(|_| cx.segment().is_none()) {
        Some(commit) => commit(cx.clone(), output.clone()).await,
        None => Ok(()),
    }
}

/// The output of an earlier attempt, if it was recorded whole, from the same input, and its artifacts are still valid.
async fn still_valid(cx: &StageContext, fingerprint: Option<&str>) -> Result<Option<Option<String>>> {
    let Some(record) = &cx.unit().record else { return Ok(None) };
    let Some(sealed) = record.sealed.as_ref().filter(|sealed| Some(sealed.input.as_str()) == fingerprint) else {
        return Ok(None);
    };
    for artifact in &record.artifacts {
        if validate(cx.artifact_store(), artifact).await? != Validity::Valid {
            return Ok(None);
        }
    }
    Ok(Some(sealed.output.clone()))
}
