//! A worker with handlers: claims stages, keeps their leases, runs their handlers, and writes how they ended.
//!
//! Always true:
//! - nothing is written about a unit except under its lease (P3);
//! - a handler is dropped before the store can give its work away (L5);
//! - outputs that were recorded whole and are still valid are not made again (P7);
//! - a commit action runs last: after the outputs are recorded, while the lease is held.

use super::artifacts::{ArtifactStore, Folder, Validity, validate};
use super::context::{Running, StageContext};
use super::leases::Units;
use super::{Act, Claim, ClaimedUnit, Ending, NewSegment, Sealed};
use crate::clock::Moment;
use crate::heart::{Cancelled, Heart, Hold, NOT_KEPT, Span};
use crate::job::to_json;
use crate::{Error, Outcome, Result, Stop, Tenure, chance, worker_name};
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::bounds::{self, Code, Invalid};
use tenure_core::retry::Retry;
use tenure_store::wake_of_pipeline;
use tokio::task::JoinSet;

/// Units in hand at once, unless said otherwise.
const CONCURRENCY: usize = 10;
/// How long it sleeps at most before it looks again: the floor under lost wake-ups.
const LOOK_AGAIN: Duration = Duration::from_secs(1);
/// Between tries to write an ending that the store did not answer.
const FINISH_AGAIN: Duration = Duration::from_millis(100);

type Handler = Arc<dyn Fn(StageContext) -> BoxFuture<'static, std::result::Result<Option<String>, Stop>> + Send + Sync>;
type Splitter =
    Arc<dyn Fn(StageContext) -> BoxFuture<'static, std::result::Result<Vec<NewSegment>, Stop>> + Send + Sync>;
type Commit =
    Arc<dyn Fn(StageContext, Option<String>) -> BoxFuture<'static, std::result::Result<(), Stop>> + Send + Sync>;

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

/// What a worker did.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StageReport {
    /// Units completed.
    pub completed: u64,
    /// Of those, units whose outputs were already there.
    pub skipped: u64,
    /// Stages split.
    pub split: u64,
    /// Attempts that failed.
    pub failed: u64,
    /// Units given back.
    pub released: u64,
    /// Endings refused because the lease was no longer held.
    pub refused: u64,
}

/// A worker for the stages of a pipeline, being set up. Made by [`Tenure::stages`].
pub struct Stages {
    tenure: Tenure,
    pipeline: String,
    owner: String,
    concurrency: usize,
    lease: Option<Duration>,
    artifacts: Arc<dyn ArtifactStore>,
    of: BTreeMap<String, Of>,
}

impl Tenure {
    /// A worker for stages of `pipeline`, to be set up.
    #[must_use]
    pub fn stages(&self, pipeline: impl Into<String>) -> Stages {
        Stages {
            tenure: self.clone(),
            pipeline: pipeline.into(),
            owner: worker_name(),
            concurrency: CONCURRENCY,
            lease: None,
            artifacts: Arc::new(Folder::new("artifacts")),
            of: BTreeMap::new(),
        }
    }
}

fn input<T: DeserializeOwned>(cx: &StageContext) -> std::result::Result<T, Stop> {
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
            let json = to_json("output", &handler(cx, input).await?)?;
            // `()` has nothing to keep.
            Ok(Some(json).filter(|json| json != "null"))
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
        self.of.entry(stage.into()).or_default().work = Some(handler(work));
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
        self.of.entry(stage.into()).or_default().split = Some(Arc::new(move |cx| {
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
        self.of.entry(stage.into()).or_default().segment = Some(handler(work));
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
        self.of.entry(stage.into()).or_default().commit = Some(Arc::new(move |cx, output| {
            let commit = commit.clone();
            Box::pin(async move {
                let output = serde_json::from_str(output.as_deref().unwrap_or("null"));
                let wrong = |error| Stop::from(format!("the output does not read as what the commit expects: {error}"));
                commit(cx, output.map_err(wrong)?).await
            })
        }));
        self
    }

    /// Units in hand at once; 10 unless said otherwise.
    #[must_use]
    pub fn concurrency(mut self, concurrency: usize) -> Stages {
        self.concurrency = concurrency;
        self
    }

    /// How long a lease lasts between heartbeats, instead of what each stage says.
    #[must_use]
    pub fn lease(mut self, lease: Duration) -> Stages {
        self.lease = Some(lease);
        self
    }

    /// The name under which leases are held.
    #[must_use]
    pub fn name(mut self, owner: impl Into<String>) -> Stages {
        self.owner = owner.into();
        self
    }

    /// Where artifacts are kept; by default the folder `artifacts`.
    #[must_use]
    pub fn artifacts(mut self, artifacts: impl ArtifactStore) -> Stages {
        self.artifacts = Arc::new(artifacts);
        self
    }

    /// Works until `shutdown`; what is in hand then is dropped and given back.
    pub async fn run_until(self, shutdown: impl Future<Output = ()>) -> Result<StageReport> {
        self.work(shutdown, false).await
    }

    /// Works until nothing of its stages is `READY`.
    pub async fn drain(self) -> Result<StageReport> {
        self.work(std::future::pending(), true).await
    }

    async fn work(self, shutdown: impl Future<Output = ()>, drain: bool) -> Result<StageReport> {
        let claim = self.claim()?;
        let heart = Arc::new(Heart::<Units>::start(self.owner.clone(), self.tenure.apart(), None).await?);
        let floor = Arc::new(self);
        let worker = floor.tenure.stage_worker();
        let mut report = StageReport::default();
        let mut hands: JoinSet<Came> = JoinSet::new();
        let mut shutdown = std::pin::pin!(shutdown);
        let (stop, stopped) = tokio::sync::watch::channel(false);
        // Listening begins before the first look, so that nothing in between is missed.
        let mut listener = floor.tenure.store.signals().listen(vec![wake_of_pipeline(&floor.pipeline)]);
        loop {
            let free = floor.concurrency - hands.len();
            if free > 0 {
                let claim = claim.clone().max(free.min(bounds::CLAIM_MAX as usize) as u32);
                // One look: a lease is counted from when it was asked for, and a wait would be taken off it.
                let asked_at = Moment::now();
                let looked = tokio::select! {
                    () = &mut shutdown => break,
                    claims = floor.tenure.outage.watch("stages", worker.claim(claim)) => claims,
                };
                match looked {
                    Ok(claims) => {
                        let none = claims.units.is_empty();
                        for unit in claims.units {
                            hands.spawn(attempt(floor.clone(), heart.clone(), unit, asked_at, stopped.clone()));
                        }
                        if none && hands.is_empty() && drain {
                            break;
                        }
                    }
                    Err(Error::Store(error)) => {
                        if drain {
                            return Err(error.into());
                        }
                        tokio::select! {
                            () = &mut shutdown => break,
                            () = tokio::time::sleep(Duration::from_secs(1)) => {}
                        }
                    }
                    Err(other) => return Err(other),
                }
            }
            tokio::select! {
                () = &mut shutdown => break,
                Some(ended) = hands.join_next() => report.add(ended.unwrap_or(Came::Failed)),
                // New work may have come for the slots that are free.
                () = listener.woken(), if hands.len() < floor.concurrency => {}
                () = tokio::time::sleep(LOOK_AGAIN), if hands.len() < floor.concurrency => {}
            }
        }
        let _ = stop.send(true);
        while let Some(ended) = hands.join_next().await {
            report.add(ended.unwrap_or(Came::Failed));
        }
        Ok(report)
    }

    fn claim(&self) -> Result<Claim> {
        if self.of.is_empty() {
            return Err(Invalid::new(Code::OutOfBounds, "handlers", "at least one: call `handle`", "none").into());
        }
        bounds::within("concurrency", self.concurrency as u64, 1, 10_000)?;
        let lease_ms = self.lease.map(|lease| u64::try_from(lease.as_millis()).unwrap_or(u64::MAX));
        let stages = self.of.keys().cloned().collect();
        let (pipeline, owner) = (self.pipeline.clone(), self.owner.clone());
        let claim = Claim { pipeline, stages, owner, max: 1, lease_ms };
        claim.check()?;
        Ok(claim)
    }
}

/// How an attempt ended, for the report.
#[derive(Clone, Copy, Debug)]
enum Came {
    Completed,
    Skipped,
    Split,
    Failed,
    Released,
    Refused,
}

impl StageReport {
    fn add(&mut self, ended: Came) {
        match ended {
            Came::Completed => self.completed += 1,
            Came::Skipped => {
                self.completed += 1;
                self.skipped += 1;
            }
            Came::Split => self.split += 1,
            Came::Failed => self.failed += 1,
            Came::Released => self.released += 1,
            Came::Refused => self.refused += 1,
        }
    }
}

/// One unit, from its claim to its ending.
async fn attempt(
    floor: Arc<Stages>,
    heart: Arc<Heart<Units>>,
    unit: ClaimedUnit,
    asked_at: Moment,
    mut stopped: tokio::sync::watch::Receiver<bool>,
) -> Came {
    let token = unit.token;
    let span = Span::of(Duration::from_millis(unit.lease_ms));
    let kept = heart.keep((unit.key(), token), span, asked_at);
    let cx = StageContext::new(Running {
        unit,
        owner: floor.owner.clone(),
        hold: kept.hold.clone(),
        tenure: floor.tenure.clone(),
        artifacts: floor.artifacts.clone(),
        made: Default::default(),
    });
    // In a task of its own: a handler that panics has failed, and takes nobody with it.
    let mut task = tokio::spawn(done(floor.clone(), cx.clone()));
    let (act, ended) = tokio::select! {
        biased;
        ended = &mut task => match ended {
            Ok(Ok(done)) => done,
            Ok(Err(Stop::Release)) if kept.hold.told() == Some(Cancelled::LeaseEnding) => not_kept(),
            Ok(Err(stop)) => (failed(stop), Came::Failed),
            Err(error) => (failed(Stop::from(format!("the handler panicked: {error}"))), Came::Failed),
        },
        why = kept.hold.over() => {
            task.abort();
            tracing::info!(unit = %cx.key(), %token, %why, "a handler was stopped");
            not_kept()
        }
        _ = stopped.wait_for(|stopped| *stopped) => {
            task.abort();
            (Act::Release, Came::Released)
        }
    };
    let ending = Ending { unit: cx.key(), owner: floor.owner.clone(), token, act };
    let written = finish(&floor, &kept.hold, ending).await;
    if written { ended } else { Came::Refused }
}

/// Writes an ending, again and again while the lease may still be held: the same one twice counts once (L12).
async fn finish(floor: &Stages, hold: &Hold, ending: Ending) -> bool {
    loop {
        match floor.tenure.stage_worker().finish(ending.clone()).await {
            Ok(_) => return true,
            Err(Error::Store(error)) if !hold.gone() && Moment::now() < hold.safe_until() => {
                tracing::debug!(%error, "an ending goes unanswered");
                tokio::time::sleep(FINISH_AGAIN).await;
            }
            Err(error) => {
                tracing::info!(unit = %ending.unit, %error, "an ending was refused");
                return false;
            }
        }
    }
}

/// The end of an attempt whose lease could not be kept. It counts, as an expiry would: given back, a handler that keeps
/// its own heartbeats from the store would be begun for ever (L6).
fn not_kept() -> (Act, Came) {
    (failed(Stop::from(NOT_KEPT)), Came::Failed)
}

fn failed(stop: Stop) -> Act {
    let ms = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX).min(bounds::SPAN_MS_MAX);
    let (error, retry) = match stop {
        Stop::Retry { error, after: None } => (error, Retry::Policy { chance: chance::signed_unit() }),
        Stop::Retry { error, after: Some(after) } => (error, Retry::In { delay_ms: ms(after) }),
        // A stage has no word for "not now": it fails, and is tried again when asked for.
        Stop::Snooze { delay } => ("put off by its handler".to_owned(), Retry::In { delay_ms: ms(delay) }),
        Stop::Cancel { why } => (why, Retry::Cancel),
        Stop::Fail { why } => (why, Retry::Never),
        Stop::Release => return Act::Release,
    };
    Act::Fail { error, retry }
}

/// Does a unit; what to write then.
async fn done(floor: Arc<Stages>, cx: StageContext) -> std::result::Result<(Act, Came), Stop> {
    let unit = cx.unit();
    let of = floor.of.get(&unit.stage).cloned().unwrap_or_default();
    let fingerprint = match &unit.record {
        Some(_) => Some(cx.fingerprint().await?),
        None => None,
    };
    if let Some(output) = still_valid(&cx, fingerprint.as_deref()).await? {
        commit(&cx, &of, &output).await?;
        let record = Some(unit.record.clone().ok_or("the record is gone")?);
        return Ok((Act::Complete { output, record }, Came::Skipped));
    }
    let splits = unit.segmented && !unit.join && unit.segment.is_none();
    if let Some(split) = of.split.as_ref().filter(|_| splits) {
        return Ok((Act::Split { segments: split(cx.clone()).await? }, Came::Split));
    }
    let handler = if unit.segment.is_some() { of.segment.as_ref() } else { of.work.as_ref() };
    let Some(handler) = handler else {
        // Claimed for a part of the stage that this worker does not know.
        return Ok((Act::Release, Came::Released));
    };
    let output = handler(cx.clone()).await?;
    let made = cx.made(None);
    if made.artifacts.is_empty() && of.commit.is_none() {
        return Ok((Act::Complete { output, record: None }, Came::Completed));
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
    Ok((Act::Complete { output, record: Some(cx.made(Some(sealed))) }, Came::Completed))
}

async fn commit(cx: &StageContext, of: &Of, output: &Option<String>) -> std::result::Result<(), Stop> {
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

impl std::fmt::Debug for Stages {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Stages").field("pipeline", &self.pipeline).field("owner", &self.owner).finish_non_exhaustive()
    }
}
