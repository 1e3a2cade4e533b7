//! The verbs of pipelines and runs, as plain data; those of a worker stand in [`StageWorker`](super::StageWorker).

use super::{
    Applied, Definition, Event, Filter, NewRun, PipelineInfo, Run, RunAction, RunId, RunStatus, StageInfo, Unit,
};
use crate::error::{KeyHolder, Refused};
use crate::{Error, Explanation, Result, Verbs};
use tenure_core::Page;
use tenure_core::bounds;
use tenure_core::pipeline::{StartRefusal, explain, timeline};

/// Claims and events of a run that a timeline shows at most of each.
const TIMELINE_MAX: u32 = 10_000;

impl Verbs<'_> {
    /// Puts a version of a pipeline on record. The same graph again changes nothing; another one under the same version
    /// is refused.
    pub async fn apply_pipeline(self, definition: Definition) -> Result<Applied> {
        definition.check()?;
        self.tenure.store.apply_pipeline(definition).await?.map_err(|_| Refused::VersionTaken.into())
    }

    /// A version of a pipeline; the highest unless named.
    pub async fn pipeline(self, name: &str, version: Option<u32>) -> Result<Option<PipelineInfo>> {
        bounds::name("pipeline", name)?;
        Ok(self.tenure.store.pipeline(name, version).await?)
    }

    /// The highest version of each pipeline, by name, from after `after`.
    pub async fn pipelines(self, after: Option<&str>, limit: u32) -> Result<Page<PipelineInfo>> {
        bounds::within("limit", limit.into(), 1, bounds::LIST_MAX)?;
        Ok(self.tenure.store.pipelines(after, limit).await?)
    }

    /// Starts a run; with a [`key`](NewRun::key), once however often it is sent.
    pub async fn start_run(self, run: NewRun) -> Result<RunId> {
        run.check()?;
        let name = match run.version {
            Some(version) => format!("version {version} of pipeline {}", run.pipeline),
            None => format!("pipeline {}", run.pipeline),
        };
        self.tenure.store.start_run(run).await?.map_err(|refusal| match refusal {
            StartRefusal::Absent => Error::NotFound(name),
            StartRefusal::KeyTaken(holder) => Error::Conflict { index: 0, with: KeyHolder::Run(holder) },
        })
    }

    /// One run and its stages.
    pub async fn run(self, id: RunId) -> Result<Option<(Run, Vec<StageInfo>)>> {
        Ok(self.tenure.store.run(id).await?)
    }

    /// Runs that match, newest first, from below `before`.
    pub async fn runs(self, filter: Filter, before: Option<RunId>, limit: u32) -> Result<Page<Run>> {
        filter.pipeline.as_deref().map_or(Ok(()), |name| bounds::name("pipeline", name))?;
        bounds::within("limit", limit.into(), 1, bounds::LIST_MAX)?;
        Ok(self.tenure.store.runs(filter, before, limit).await?)
    }

    /// The segments of a stage in the order of the split, from after the one with the number `after`.
    pub async fn segments(self, id: RunId, stage: &str, after: Option<i64>, limit: u32) -> Result<Page<Unit>> {
        bounds::name("stage", stage)?;
        bounds::within("limit", limit.into(), 1, bounds::LIST_MAX)?;
        let page = self.tenure.store.segments(id, stage, after, limit).await?;
        if page.items.is_empty() {
            let (_, stages) = self.tenure.store.run(id).await?.ok_or_else(|| Error::NotFound(format!("run {id}")))?;
            if !stages.iter().any(|of| of.unit.stage == stage) {
                return Err(Error::NotFound(format!("stage {stage} of run {id}")));
            }
        }
        Ok(page)
    }

    /// Everything that is known to have happened to a run, oldest first (L8).
    pub async fn run_timeline(self, id: RunId) -> Result<Option<Vec<Event>>> {
        let Some((run, stages)) = self.tenure.store.run(id).await? else { return Ok(None) };
        let history = self.tenure.store.run_history(id, TIMELINE_MAX).await?;
        Ok(Some(timeline(&run, &stages, history)))
    }

    /// What a run waits for: which prerequisite is missing, who holds what.
    pub async fn explain_run(self, id: RunId) -> Result<Option<Explanation>> {
        let Some((run, stages)) = self.tenure.store.run(id).await? else { return Ok(None) };
        Ok(Some(explain(&run, &stages, self.tenure.store.now().await?)))
    }

    /// Carries out an operator's action on a run.
    pub async fn operate_run(self, id: RunId, mut action: RunAction) -> Result<RunStatus> {
        action.check()?;
        self.tenure.store.operate_run(id, action).await?.map_err(|refusal| Refused::Run(refusal).into())
    }
}
