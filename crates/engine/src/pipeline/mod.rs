//! Pipelines: runs made of stages, each stage claimed under a lease (P1–P8).
//!
//! Three roles, three types, none of which can do another's work (P2):
//!
//! - [`Orchestrator`] makes `READY` what can start, releases retries, settles runs; it never does work.
//! - [`StageWorker`] claims stages and segments and ends them under its lease; it never touches what follows.
//! - [`Recovery`] returns work whose lease ran out.
//!
//! Any number of each may run at once, on any number of machines. [`Stages`] is a worker with handlers:
//!
//! ```
//! # #[tokio::main(flavor = "current_thread")] async fn main() -> tenure::Result<()> {
//! use tenure::pipeline::{Definition, NewRun, RunStatus, Stage, StageContext};
//! use tenure::prelude::*;
//!
//! async fn fetch(_: StageContext, url: String) -> Outcome<u64> {
//!     Outcome::done(url.len() as u64)
//! }
//! async fn report(_: StageContext, length: u64) -> Outcome<String> {
//!     Outcome::done(format!("{length} bytes"))
//! }
//!
//! let tenure = Tenure::open("memory:").await?;
//! let definition =
//!     Definition::new("mirror").stage(Stage::new("fetch")).stage(Stage::new("report").needs(["fetch"]));
//! tenure.apply_pipeline(definition).await?;
//! let run = tenure.start_run(NewRun::new("mirror", r#""http://example""#)).await?;
//!
//! let stages = || tenure.stages("mirror").handle("fetch", fetch).handle("report", report);
//! while !tenure.run(run).await?.unwrap().0.status.terminal() {
//!     tenure.orchestrator().advance(100).await?;
//!     stages().drain().await?;
//! }
//! let (run, stages) = tenure.run(run).await?.unwrap();
//! assert_eq!(run.status, RunStatus::Done);
//! assert_eq!(stages[1].unit.output.as_deref(), Some(r#""14 bytes""#));
//! # Ok(()) }
//! ```

pub mod artifacts;
mod context;
mod orchestrator;
mod recovery;
mod runtime;
mod verify;
mod worker;

pub use context::StageContext;
pub use orchestrator::Orchestrator;
pub use recovery::Recovery;
pub use runtime::{Segment, StageReport, Stages, Units};
pub use tenure_core::pipeline::{
    ARTIFACTS_MAX, Act, Advanced, Applied, Artifact, Attempt, Beat, Beaten, Claim, ClaimedUnit, Claims, Definition,
    Ended, Ending, Event, Filter, History, NewRun, NewSegment, PipelineInfo, Reason, Record, Recovered, Refusal, Run,
    RunAction, RunId, RunRefusal, RunStatus, SEGMENTS_MAX, STAGES_MAX, Sealed, SegmentCounts, Stage, StageInfo, Status,
    Unit, UnitKey, Verb, What,
};
pub use verify::{Fault, Finding};
pub use worker::StageWorker;

use crate::{Error, Explanation, Result, Tenure};
use tenure_core::Page;
use tenure_core::bounds;
use tenure_core::pipeline::{StartRefusal, explain, timeline};

/// Claims and events of a run that a timeline shows at most of each.
const TIMELINE_MAX: u32 = 10_000;

impl Tenure {
    /// Puts a version of a pipeline on record. The same graph again changes nothing; another one under the same version
    /// is refused.
    pub async fn apply_pipeline(&self, definition: Definition) -> Result<Applied> {
        definition.check()?;
        self.store.apply_pipeline(definition).await?.map_err(|_| Error::VersionTaken)
    }

    /// A version of a pipeline; the highest unless named.
    pub async fn pipeline(&self, name: &str, version: Option<u32>) -> Result<Option<PipelineInfo>> {
        bounds::name("pipeline", name)?;
        Ok(self.store.pipeline(name, version).await?)
    }

    /// The highest version of each pipeline, by name, from after `after`.
    pub async fn pipelines(&self, after: Option<&str>, limit: u32) -> Result<Page<PipelineInfo>> {
        bounds::within("limit", limit.into(), 1, bounds::LIST_MAX)?;
        Ok(self.store.pipelines(after, limit).await?)
    }

    /// Starts a run; with a [`key`](NewRun::key), once however often it is sent.
    pub async fn start_run(&self, run: NewRun) -> Result<RunId> {
        run.check()?;
        let name = match run.version {
            Some(version) => format!("version {version} of pipeline {}", run.pipeline),
            None => format!("pipeline {}", run.pipeline),
        };
        self.store.start_run(run).await?.map_err(|refusal| match refusal {
            StartRefusal::Absent => Error::Absent(name),
            StartRefusal::KeyTaken(holder) => Error::RunKeyTaken(holder),
        })
    }

    /// One run and its stages.
    pub async fn run(&self, id: RunId) -> Result<Option<(Run, Vec<StageInfo>)>> {
        Ok(self.store.run(id).await?)
    }

    /// Runs that match, newest first, from below `before`.
    pub async fn runs(&self, filter: Filter, before: Option<RunId>, limit: u32) -> Result<Page<Run>> {
        filter.pipeline.as_deref().map_or(Ok(()), |name| bounds::name("pipeline", name))?;
        bounds::within("limit", limit.into(), 1, bounds::LIST_MAX)?;
        Ok(self.store.runs(filter, before, limit).await?)
    }

    /// The segments of a stage in the order of the split, from after the one with the number `after`.
    pub async fn segments(&self, id: RunId, stage: &str, after: Option<i64>, limit: u32) -> Result<Page<Unit>> {
        bounds::name("stage", stage)?;
        bounds::within("limit", limit.into(), 1, bounds::LIST_MAX)?;
        let page = self.store.segments(id, stage, after, limit).await?;
        if page.items.is_empty() {
            let (_, stages) = self.store.run(id).await?.ok_or_else(|| Error::Absent(format!("run {id}")))?;
            if !stages.iter().any(|of| of.unit.stage == stage) {
                return Err(Error::Absent(format!("stage {stage} of run {id}")));
            }
        }
        Ok(page)
    }

    /// Everything that is known to have happened to a run, oldest first (L8).
    pub async fn run_timeline(&self, id: RunId) -> Result<Option<Vec<Event>>> {
        let Some((run, stages)) = self.store.run(id).await? else { return Ok(None) };
        let history = self.store.run_history(id, TIMELINE_MAX).await?;
        Ok(Some(timeline(&run, &stages, history)))
    }

    /// What a run waits for: which prerequisite is missing, who holds what.
    pub async fn explain_run(&self, id: RunId) -> Result<Option<Explanation>> {
        let Some((run, stages)) = self.store.run(id).await? else { return Ok(None) };
        Ok(Some(explain(&run, &stages, self.store.now().await?)))
    }

    /// Carries out an operator's action on a run.
    pub async fn operate_run(&self, id: RunId, mut action: RunAction) -> Result<RunStatus> {
        action.check()?;
        self.store.operate_run(id, action).await?.map_err(Error::RunRefused)
    }

    /// Keeps every pipeline moving until this is dropped: orchestrator, recovery, and the removal of runs that are no
    /// longer kept.
    pub async fn keep_pipelines(&self) {
        let (orchestrator, recovery) = (self.orchestrator(), self.pipeline_recovery());
        tokio::join!(orchestrator.keep_advancing(), recovery.keep_recovering());
    }
}
