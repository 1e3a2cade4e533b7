//! The pipelines of the planted store are right: its mistakes are the queue's.

use super::wrong::Wrong;
use async_trait::async_trait;
use tenure_core::Page;
use tenure_core::pipeline::{
    Advanced, Applied, Beat, Beaten, Claim, Claims, Definition, Ended, Ending, Filter, History, NewRun, PipelineInfo,
    Recovered, Refusal, Run, RunAction, RunId, RunRefusal, RunStatus, StageInfo, StartRefusal, Taken, Unit,
};
use tenure_store::{Fenced, PipelineStore, Result};

#[async_trait]
impl PipelineStore for Wrong {
    async fn apply_pipeline(&self, definition: Definition) -> Result<std::result::Result<Applied, Taken>> {
        self.right.apply_pipeline(definition).await
    }

    async fn pipeline(&self, name: &str, version: Option<u32>) -> Result<Option<PipelineInfo>> {
        self.right.pipeline(name, version).await
    }

    async fn pipelines(&self, after: Option<&str>, limit: u32) -> Result<Page<PipelineInfo>> {
        self.right.pipelines(after, limit).await
    }

    async fn start_run(&self, run: NewRun) -> Result<std::result::Result<RunId, StartRefusal>> {
        self.right.start_run(run).await
    }

    async fn claim_units(&self, claim: Claim) -> Result<Option<Claims>> {
        self.right.claim_units(claim).await
    }

    async fn beat_units(&self, beats: Vec<Beat>) -> Result<Vec<Fenced<Beaten>>> {
        self.right.beat_units(beats).await
    }

    async fn finish_unit(&self, ending: Ending) -> Result<std::result::Result<Ended, Refusal>> {
        self.right.finish_unit(ending).await
    }

    async fn advance_runs(&self, max: u32) -> Result<Advanced> {
        self.right.advance_runs(max).await
    }

    async fn recover_units(&self, max: u32) -> Result<Recovered> {
        self.right.recover_units(max).await
    }

    async fn operate_run(&self, id: RunId, action: RunAction) -> Result<std::result::Result<RunStatus, RunRefusal>> {
        self.right.operate_run(id, action).await
    }

    async fn run(&self, id: RunId) -> Result<Option<(Run, Vec<StageInfo>)>> {
        self.right.run(id).await
    }

    async fn runs(&self, filter: Filter, before: Option<RunId>, limit: u32) -> Result<Page<Run>> {
        self.right.runs(filter, before, limit).await
    }

    async fn segments(&self, id: RunId, stage: &str, after: Option<i64>, limit: u32) -> Result<Page<Unit>> {
        self.right.segments(id, stage, after, limit).await
    }

    async fn run_history(&self, id: RunId, limit: u32) -> Result<History> {
        self.right.run_history(id, limit).await
    }

    async fn prune_runs(&self, max: u32) -> Result<u32> {
        self.right.prune_runs(max).await
    }
}
