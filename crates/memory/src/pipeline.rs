//! Pipelines in memory: [`Pipelines`] behind a lock.

use crate::MemoryStore;
use async_trait::async_trait;
use std::sync::{MutexGuard, PoisonError};
use tenure_core::Page;
use tenure_core::Time;
use tenure_core::changes::{Difference, Face, Subject, What};
use tenure_core::pipeline::{
    Advanced, Applied, Beat, Beaten, Claim, Claims, Definition, Ended, Ending, Filter, History, NewRun, PipelineInfo,
    Pipelines, Recovered, Refusal, Run, RunAction, RunId, RunRefusal, RunStatus, StageInfo, StartRefusal, Taken, Unit,
};
use tenure_store::{Fenced, PipelineStore, QueueStore, Result, WAKE_ORCHESTRATOR, wake_of_pipeline};

impl MemoryStore {
    /// The pipelines, and the instant at which they were locked (L5: read after the lock).
    fn locked_pipelines(&self) -> (MutexGuard<'_, Pipelines>, Time) {
        let pipelines = self.pipelines.lock().unwrap_or_else(PoisonError::into_inner);
        (pipelines, self.clock.now())
    }
}

#[async_trait]
impl PipelineStore for MemoryStore {
    async fn apply_pipeline(&self, definition: Definition) -> Result<std::result::Result<Applied, Taken>> {
        let (mut pipelines, now) = self.locked_pipelines();
        let (subject, version) = (Subject::new(Face::Pipeline, &definition.name), definition.version);
        let applied = pipelines.apply(definition, now);
        if applied == Ok(Applied::Created) {
            let difference = Some(Difference::version(version));
            self.noted().add(&subject, &self.actor, What::Created, difference, now);
        }
        Ok(applied)
    }

    async fn pipeline(&self, name: &str, version: Option<u32>) -> Result<Option<PipelineInfo>> {
        Ok(self.locked_pipelines().0.pipeline(name, version))
    }

    async fn pipelines(&self, after: Option<&str>, limit: u32) -> Result<Page<PipelineInfo>> {
        Ok(self.locked_pipelines().0.pipelines(after, limit as usize))
    }

    async fn start_run(&self, run: NewRun) -> Result<std::result::Result<RunId, StartRefusal>> {
        let started = {
            let (mut pipelines, now) = self.locked_pipelines();
            pipelines.start(&run, now)
        };
        self.signals().ring(WAKE_ORCHESTRATOR);
        Ok(started)
    }

    async fn claim_units(&self, claim: Claim) -> Result<Option<Claims>> {
        let mut queues = self.locked().0;
        let (mut pipelines, now) = self.locked_pipelines();
        Ok(pipelines.claim(&claim, queues.tokens(), now))
    }

    async fn beat_units(&self, beats: Vec<Beat>) -> Result<Vec<Fenced<Beaten>>> {
        let (mut pipelines, now) = self.locked_pipelines();
        Ok(beats.iter().map(|beat| pipelines.heartbeat(beat, now)).collect())
    }

    async fn finish_unit(&self, ending: Ending) -> Result<std::result::Result<Ended, Refusal>> {
        let (ended, pipeline) = {
            let (mut pipelines, now) = self.locked_pipelines();
            let ended = pipelines.finish(&ending, now);
            (ended, pipelines.run(ending.unit.run).map(|run| run.pipeline))
        };
        if ended.is_ok_and(|ended| !ended.already) {
            self.signals().ring(WAKE_ORCHESTRATOR);
            pipeline.into_iter().for_each(|pipeline| self.signals().ring(&wake_of_pipeline(&pipeline)));
        }
        Ok(ended)
    }

    async fn advance_runs(&self, max: u32) -> Result<Advanced> {
        let advanced = {
            let (mut pipelines, now) = self.locked_pipelines();
            pipelines.advance(max as usize, now)
        };
        if advanced.readied + advanced.retried > 0 {
            self.signals().ring_all();
        }
        Ok(advanced)
    }

    async fn recover_units(&self, max: u32) -> Result<Recovered> {
        let recovered = {
            let (mut pipelines, now) = self.locked_pipelines();
            pipelines.recover(max as usize, now)
        };
        if recovered != Recovered::default() {
            self.signals().ring_all();
        }
        Ok(recovered)
    }

    async fn operate_run(&self, id: RunId, action: RunAction) -> Result<std::result::Result<RunStatus, RunRefusal>> {
        let answer = {
            let (mut pipelines, now) = self.locked_pipelines();
            pipelines.operate(id, &action, &self.actor, now)
        };
        self.signals().ring_all();
        Ok(answer)
    }

    async fn run(&self, id: RunId) -> Result<Option<(Run, Vec<StageInfo>)>> {
        let (pipelines, _) = self.locked_pipelines();
        Ok(pipelines.run(id).map(|run| (run, pipelines.stages(id))))
    }

    async fn runs(&self, filter: Filter, before: Option<RunId>, limit: u32) -> Result<Page<Run>> {
        Ok(self.locked_pipelines().0.runs(&filter, before, limit as usize))
    }

    async fn segments(&self, id: RunId, stage: &str, after: Option<i64>, limit: u32) -> Result<Page<Unit>> {
        Ok(self.locked_pipelines().0.segments(id, stage, after, limit as usize))
    }

    async fn run_history(&self, id: RunId, limit: u32) -> Result<History> {
        Ok(self.locked_pipelines().0.history(id, limit as usize))
    }

    async fn prune_runs(&self, max: u32) -> Result<u32> {
        let (mut pipelines, now) = self.locked_pipelines();
        Ok(pipelines.prune(max as usize, now))
    }
}
