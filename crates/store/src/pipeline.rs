//! What a backend must do for pipelines.
//!
//! Every method is one transaction on the store's own clock. What the answers must be,
//! [`Pipelines`](tenure_core::pipeline::Pipelines) decides.

use crate::{Fenced, Result};
use async_trait::async_trait;
use tenure_core::Page;
use tenure_core::pipeline::{
    Advanced, Applied, Beat, Beaten, Claim, Claims, Definition, Ended, Ending, Filter, History, NewRun, PipelineInfo,
    Recovered, Refusal, Run, RunAction, RunId, RunRefusal, RunStatus, StageInfo, StartRefusal, Taken, Unit,
};

/// The name under which waiting workers of a pipeline are woken. Not a name a queue can have.
#[must_use]
pub fn wake_of_pipeline(pipeline: &str) -> String {
    format!("/pipeline/{pipeline}")
}

/// The name under which waiting orchestrators are woken. Not a name a queue can have.
pub const WAKE_ORCHESTRATOR: &str = "/orchestrator";

/// Pipelines: definitions, runs, and the units of runs under their leases.
#[async_trait]
pub trait PipelineStore: Send + Sync + 'static {
    /// Puts a version of a pipeline on record.
    async fn apply_pipeline(&self, definition: Definition) -> Result<std::result::Result<Applied, Taken>>;

    /// A version of a pipeline; the highest unless named.
    async fn pipeline(&self, name: &str, version: Option<u32>) -> Result<Option<PipelineInfo>>;

    /// The highest version of each pipeline, by name, from after `after`.
    async fn pipelines(&self, after: Option<&str>, limit: u32) -> Result<Page<PipelineInfo>>;

    /// Starts a run, all its stages `NEW`, or answers the one that was started under the same key.
    async fn start_run(&self, run: NewRun) -> Result<std::result::Result<RunId, StartRefusal>>;

    /// Takes units that are `READY`, after returning those of these stages whose lease ran out (L7). `None` if no version
    /// of the pipeline has one of the stages.
    async fn claim_units(&self, claim: Claim) -> Result<Option<Claims>>;

    /// Renews leases, each answered on its own, in this order.
    async fn beat_units(&self, beats: Vec<Beat>) -> Result<Vec<Fenced<Beaten>>>;

    /// Ends a claim (P3).
    async fn finish_unit(&self, ending: Ending) -> Result<std::result::Result<Ended, Refusal>>;

    /// One step of the orchestrator (P5): at most `max` units released to be tried again, at most `max` runs looked at.
    async fn advance_runs(&self, max: u32) -> Result<Advanced>;

    /// One step of recovery (L7): at most `max` units whose lease ran out.
    async fn recover_units(&self, max: u32) -> Result<Recovered>;

    /// Carries out an operator's action.
    async fn operate_run(&self, id: RunId, action: RunAction) -> Result<std::result::Result<RunStatus, RunRefusal>>;

    /// One run and its stages, in the order of its definition.
    async fn run(&self, id: RunId) -> Result<Option<(Run, Vec<StageInfo>)>>;

    /// Runs that match, newest first, from below `before`.
    async fn runs(&self, filter: Filter, before: Option<RunId>, limit: u32) -> Result<Page<Run>>;

    /// The segments of a stage in the order of the split, from after the one with the number `after`.
    async fn segments(&self, id: RunId, stage: &str, after: Option<i64>, limit: u32) -> Result<Page<Unit>>;

    /// The last `limit` ended claims of a run and the last `limit` of its events.
    async fn run_history(&self, id: RunId, limit: u32) -> Result<History>;

    /// Removes settled runs that are no longer kept, at most `max`.
    async fn prune_runs(&self, max: u32) -> Result<u32>;
}
