//! Pipelines in the file. Each verb is one step inside a transaction that was begun before: units are read,
//! [`tenure_core`] decides, and what it decided is written back; triggers refuse what P2 does not list.

mod advance;
mod claim;
mod finish;
mod operate;
mod row;
mod unit;

pub(crate) use unit::readable_unit;

use crate::column::{all, first};
use crate::inbox::Lane;
use crate::{SqliteStore, sql};
use async_trait::async_trait;
use tenure_core::Page;
use tenure_core::pipeline::{
    Advanced, Applied, Beat, Beaten, Claim, Claims, Definition, Ended, Ending, Filter, History, NewRun, PipelineInfo,
    Recovered, Refusal, Run, RunAction, RunId, RunRefusal, RunStatus, SegmentCounts, StageInfo, StartRefusal, Status,
    Taken, Unit,
};
use tenure_store::{Fenced, PipelineStore, Result};

#[async_trait]
impl PipelineStore for SqliteStore {
    async fn apply_pipeline(&self, definition: Definition) -> Result<std::result::Result<Applied, Taken>> {
        let by = self.actor.clone();
        self.write(definition.stages.len(), move |step| advance::apply(step, &definition, &by)).await
    }

    async fn pipeline(&self, name: &str, version: Option<u32>) -> Result<Option<PipelineInfo>> {
        let name = name.to_owned();
        self.read(move |step| first(step.conn, sql::PIPELINE_DEFINITION, (&name, version), row::pipeline)).await
    }

    async fn pipelines(&self, after: Option<&str>, limit: u32) -> Result<Page<PipelineInfo>> {
        let after = after.map(str::to_owned);
        self.read(move |step| {
            let items = all(step.conn, sql::PIPELINE_DEFINITIONS, (&after, i64::from(limit) + 1), row::pipeline)?;
            Ok(Page::cut(items, limit as usize))
        })
        .await
    }

    async fn start_run(&self, run: NewRun) -> Result<std::result::Result<RunId, StartRefusal>> {
        self.write(10, move |step| advance::start(step, &run)).await
    }

    async fn claim_units(&self, claim: Claim) -> Result<Option<Claims>> {
        self.write(claim.max as usize, move |step| claim::claim(step, &claim)).await
    }

    async fn beat_units(&self, beats: Vec<Beat>) -> Result<Vec<Fenced<Beaten>>> {
        self.writes.ask(Lane::Urgent, beats.len(), move |step| finish::heartbeat(step, &beats)).await
    }

    async fn finish_unit(&self, ending: Ending) -> Result<std::result::Result<Ended, Refusal>> {
        self.write(2, move |step| finish::finish(step, &ending)).await
    }

    async fn advance_runs(&self, max: u32) -> Result<Advanced> {
        self.write(max as usize, move |step| advance::advance(step, max)).await
    }

    async fn recover_units(&self, max: u32) -> Result<Recovered> {
        self.write(max as usize, move |step| claim::recover(step, max)).await
    }

    async fn operate_run(&self, id: RunId, action: RunAction) -> Result<std::result::Result<RunStatus, RunRefusal>> {
        let by = self.actor.clone();
        self.write(10, move |step| operate::operate(step, id, &action, &by)).await
    }

    async fn run(&self, id: RunId) -> Result<Option<(Run, Vec<StageInfo>)>> {
        self.read(move |step| {
            let Some(run) = unit::run(step, id)? else { return Ok(None) };
            let mut stages = Vec::new();
            for unit in all(step.conn, sql::PIPELINE_STAGES, [id.0], row::unit)? {
                let mut segments = SegmentCounts::default();
                if unit.split {
                    let counts: Vec<(String, i64)> =
                        all(step.conn, sql::PIPELINE_SEGMENT_COUNTS, (id.0, &unit.stage), |row| {
                            Ok((row.get(0)?, row.get(1)?))
                        })?;
                    for (status, count) in counts {
                        Status::parse(&status).into_iter().for_each(|status| segments.add(status, count as u64));
                    }
                }
                stages.push(StageInfo { unit, segments });
            }
            Ok(Some((run, stages)))
        })
        .await
    }

    async fn runs(&self, filter: Filter, before: Option<RunId>, limit: u32) -> Result<Page<Run>> {
        self.read(move |step| {
            let status = filter.status.map(RunStatus::as_str);
            let before = before.map_or(i64::MAX, |id| id.0);
            let of = (&filter.pipeline, status, before, i64::from(limit) + 1);
            Ok(Page::cut(all(step.conn, sql::PIPELINE_RUNS, of, row::run)?, limit as usize))
        })
        .await
    }

    async fn segments(&self, id: RunId, stage: &str, after: Option<i64>, limit: u32) -> Result<Page<Unit>> {
        let stage = stage.to_owned();
        self.read(move |step| {
            let of = (id.0, &stage, after.unwrap_or(0), i64::from(limit) + 1);
            Ok(Page::cut(all(step.conn, sql::PIPELINE_SEGMENTS, of, row::unit)?, limit as usize))
        })
        .await
    }

    async fn run_history(&self, id: RunId, limit: u32) -> Result<History> {
        self.read(move |step| {
            let mut attempts = all(step.conn, sql::PIPELINE_ATTEMPTS, (id.0, limit), row::attempt)?;
            let mut events = all(step.conn, sql::PIPELINE_EVENTS, (id.0, limit), row::event)?;
            attempts.reverse();
            events.reverse();
            Ok(History { attempts, events })
        })
        .await
    }

    async fn prune_runs(&self, max: u32) -> Result<u32> {
        self.write(max as usize, move |step| advance::prune(step, max)).await
    }
}
