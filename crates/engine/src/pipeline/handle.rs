//! Handles on one pipeline and on one run, and lists. Making one asks nobody.

use super::artifacts::ArtifactStore;
use super::held::ClaimStages;
use super::{
    Applied, Definition, Event, Filter, Finding, NewRun, PipelineInfo, Run, RunAction, RunId, RunStatus, StageInfo,
    Unit,
};
use crate::error::absent;
use crate::queue::{from_json, to_json};
use crate::rest::Rest;
use crate::{Error, Explanation, Result, Tenure};
use futures_util::future::BoxFuture;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::future::IntoFuture;
use std::sync::Arc;
use std::time::Duration;
use tenure_core::Page;
use tenure_core::changes::{Changed, Face, Subject};

/// One pipeline. Made by [`Tenure::pipeline`]; the name is checked by each call.
#[derive(Clone, Debug)]
pub struct PipelineHandle {
    tenure: Tenure,
    name: Arc<str>,
}

/// One run of a pipeline. Made by [`Tenure::run`], and by starting one.
#[derive(Clone, Debug)]
pub struct RunHandle {
    tenure: Tenure,
    id: RunId,
}

impl Tenure {
    /// The pipeline `name`.
    #[must_use]
    pub fn pipeline(&self, name: &str) -> PipelineHandle {
        PipelineHandle { tenure: self.clone(), name: name.into() }
    }

    /// Puts a version of a pipeline on record. The same graph again changes nothing; another one under the same version is
    /// refused.
    pub async fn apply(&self, definition: Definition) -> Result<Applied> {
        self.verbs().apply_pipeline(definition).await
    }

    /// The highest version of each pipeline, by name.
    pub fn pipelines(&self) -> ListPipelines {
        ListPipelines { tenure: self.clone(), after: None }
    }

    /// The run `id`.
    #[must_use]
    pub fn run(&self, id: RunId) -> RunHandle {
        RunHandle { tenure: self.clone(), id }
    }

    /// Runs of every pipeline, newest first.
    pub fn runs(&self) -> ListRuns {
        ListRuns { tenure: self.clone(), filter: Filter::default(), before: None }
    }
}

impl PipelineHandle {
    /// Its name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its highest version.
    pub async fn info(&self) -> Result<PipelineInfo> {
        self.tenure.verbs().pipeline(&self.name, None).await?.ok_or_else(|| absent("pipeline", &self.name))
    }

    /// One of its versions.
    pub async fn version(&self, version: u32) -> Result<PipelineInfo> {
        let found = self.tenure.verbs().pipeline(&self.name, Some(version)).await?;
        found.ok_or_else(|| absent("pipeline", format_args!("{} in version {version}", self.name)))
    }

    /// Starts a run on this input.
    pub fn start<T: Serialize>(&self, input: T) -> StartRun {
        let run = to_json("input", &input).map(|input| NewRun::new(&*self.name, input));
        StartRun { tenure: self.tenure.clone(), run }
    }

    /// Its runs, newest first.
    pub fn runs(&self) -> ListRuns {
        self.tenure.runs().pipeline(&*self.name)
    }

    /// Takes stages or segments by hand; a [worker](Tenure::worker) does it by itself.
    pub fn claim<S: Into<String>>(&self, stages: impl IntoIterator<Item = S>) -> ClaimStages {
        ClaimStages::new(&self.tenure, &self.name, stages.into_iter().map(Into::into).collect())
    }

    /// What was changed about it and by whom, oldest first (L8).
    pub async fn changes(&self) -> Result<Vec<Changed>> {
        let of = Subject::new(Face::Pipeline, &*self.name);
        self.tenure.verbs().changes(of).await?.ok_or_else(|| absent("pipeline", &self.name))
    }
}

/// A run that is started once this is awaited. Made by [`PipelineHandle::start`].
#[must_use = "nothing is started before it is awaited"]
#[derive(Debug)]
pub struct StartRun {
    tenure: Tenure,
    run: Result<NewRun>,
}

impl StartRun {
    /// Once, however often it is sent under this key.
    pub fn key(mut self, key: impl Into<String>) -> StartRun {
        self.run = self.run.map(|run| run.key(key));
        self
    }

    /// By this version, instead of the highest.
    pub fn version(mut self, version: u32) -> StartRun {
        self.run = self.run.map(|run| NewRun { version: Some(version), ..run });
        self
    }
}

impl IntoFuture for StartRun {
    type Output = Result<RunHandle>;
    type IntoFuture = BoxFuture<'static, Result<RunHandle>>;

    fn into_future(self) -> Self::IntoFuture {
        Box::pin(async move {
            let id = self.tenure.verbs().start_run(self.run?).await?;
            Ok(self.tenure.run(id))
        })
    }
}

impl RunHandle {
    /// Its number.
    #[must_use]
    pub fn id(&self) -> RunId {
        self.id
    }

    /// What it is and where it stands.
    pub async fn info(&self) -> Result<Run> {
        Ok(self.with_stages().await?.0)
    }

    /// Its stages.
    pub async fn stages(&self) -> Result<Vec<StageInfo>> {
        Ok(self.with_stages().await?.1)
    }

    /// Both, as of one instant.
    pub async fn with_stages(&self) -> Result<(Run, Vec<StageInfo>)> {
        self.tenure.verbs().run(self.id).await?.ok_or_else(|| self.absent())
    }

    /// The segments of a stage in the order of the split, from after the one with the number `after`.
    pub async fn segments(&self, stage: &str, after: Option<i64>, limit: u32) -> Result<Page<Unit>> {
        self.tenure.verbs().segments(self.id, stage, after, limit).await
    }

    /// Everything that is known to have happened to it, oldest first (L8).
    pub async fn timeline(&self) -> Result<Vec<Event>> {
        self.tenure.verbs().run_timeline(self.id).await?.ok_or_else(|| self.absent())
    }

    /// What it waits for: which prerequisite is missing, who holds what.
    pub async fn explain(&self) -> Result<Explanation> {
        self.tenure.verbs().explain_run(self.id).await?.ok_or_else(|| self.absent())
    }

    /// Waits until it has ended; where it stands then. Put `tokio::time::timeout` around it where it must not take for ever.
    pub async fn wait(&self) -> Result<Run> {
        let mut rest = Rest::default();
        loop {
            let run = self.info().await?;
            if run.status.terminal() {
                return Ok(run);
            }
            tokio::time::sleep(rest.begin(Some(Duration::ZERO))).await;
            rest.over();
        }
    }

    /// What a stage that is done has put out.
    pub async fn output<T: DeserializeOwned>(&self, stage: &str) -> Result<T> {
        let stages = self.stages().await?;
        let found = stages.into_iter().find(|of| of.unit.stage == stage);
        let found = found.ok_or_else(|| absent("stage", format_args!("{stage} of run {}", self.id)))?;
        from_json("output", found.unit.output.as_deref().unwrap_or("null"))
    }

    /// Ends it now; holders are told `cancelled` (S6).
    pub async fn cancel(&self, reason: impl Into<String>) -> Result<RunStatus> {
        self.operate(RunAction::Cancel { reason: Some(reason.into()).filter(|reason| !reason.is_empty()) }).await
    }

    /// Tries again what is finally `ERROR`, with its attempts anew.
    pub async fn retry(&self) -> Result<RunStatus> {
        self.operate(RunAction::Retry).await
    }

    /// Does a stage again from the beginning, and what follows from it.
    pub async fn retry_from(&self, stage: impl Into<String>) -> Result<RunStatus> {
        self.operate(RunAction::RetryFrom { stage: stage.into() }).await
    }

    /// Hands out none of its units, until [`resume`](RunHandle::resume).
    pub async fn pause(&self) -> Result<RunStatus> {
        self.operate(RunAction::Pause).await
    }

    /// Hands out its units again.
    pub async fn resume(&self) -> Result<RunStatus> {
        self.operate(RunAction::Resume).await
    }

    /// Compares every artifact that its `DONE` units recorded with what is there; how many, and what is wrong.
    pub async fn verify(&self, artifacts: &dyn ArtifactStore) -> Result<(u64, Vec<Finding>)> {
        self.tenure.verbs().verify_run(self.id, artifacts).await
    }

    /// Has exactly the units of these findings done again, but for unreadable ones.
    pub async fn repair(&self, findings: &[Finding]) -> Result<RunStatus> {
        self.tenure.verbs().repair_run(self.id, findings).await
    }

    async fn operate(&self, action: RunAction) -> Result<RunStatus> {
        self.tenure.verbs().operate_run(self.id, action).await
    }

    fn absent(&self) -> Error {
        absent("run", self.id)
    }
}

/// Pipelines by name. Made by [`Tenure::pipelines`].
#[must_use = "nothing is asked before `page`"]
#[derive(Clone, Debug)]
pub struct ListPipelines {
    tenure: Tenure,
    after: Option<String>,
}

impl ListPipelines {
    /// Only those after this name: the last of the page before.
    pub fn after(mut self, name: impl Into<String>) -> ListPipelines {
        self.after = Some(name.into());
        self
    }

    /// At most `limit` of them.
    pub async fn page(self, limit: u32) -> Result<Page<PipelineInfo>> {
        self.tenure.verbs().pipelines(self.after.as_deref(), limit).await
    }
}

/// Runs, newest first. Made by [`Tenure::runs`].
#[must_use = "nothing is asked before `page`"]
#[derive(Clone, Debug)]
pub struct ListRuns {
    tenure: Tenure,
    filter: Filter,
    before: Option<RunId>,
}

impl ListRuns {
    /// Only of this pipeline.
    pub fn pipeline(mut self, name: impl Into<String>) -> ListRuns {
        self.filter.pipeline = Some(name.into());
        self
    }

    /// Only in this state.
    pub fn status(mut self, status: RunStatus) -> ListRuns {
        self.filter.status = Some(status);
        self
    }

    /// Only older ones than this: the last of the page before.
    pub fn before(mut self, id: RunId) -> ListRuns {
        self.before = Some(id);
        self
    }

    /// At most `limit` of them.
    pub async fn page(self, limit: u32) -> Result<Page<Run>> {
        self.tenure.verbs().runs(self.filter, self.before, limit).await
    }
}
