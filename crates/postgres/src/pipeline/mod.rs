//! Pipelines, each verb one call of its function in the database.

mod claim;
mod finish;
mod row;

use crate::PostgresStore;
use crate::upkeep::first;
use crate::value::{backoff_parts, get, page};
use async_trait::async_trait;
use serde_json::{Value, json};
use std::collections::BTreeSet;
use tenure_core::Page;
use tenure_core::pipeline::{
    Advanced, Applied, Beat, Beaten, Claim, Claims, Definition, Ended, Ending, Filter, History, NewRun, PipelineInfo,
    RETENTION_MS, Recovered, Refusal, Run, RunAction, RunId, RunRefusal, RunStatus, StageInfo, StartRefusal, Taken,
    Unit, downstream,
};
use tenure_store::{Fenced, PipelineStore, Result, StoreError, WAKE_ORCHESTRATOR, wake_of_pipeline};

/// Looks at a key whose run is being removed, at most.
const START_TRIES: u32 = 5;

impl PostgresStore {
    /// Wakes the workers of some pipelines here and elsewhere, and the orchestrators if there is something to look at.
    fn wake_pipelines<'a>(&self, pipelines: impl IntoIterator<Item = &'a str>, orchestrator: bool) {
        let names = pipelines.into_iter().map(wake_of_pipeline);
        for name in names.chain(orchestrator.then(|| WAKE_ORCHESTRATOR.to_owned())) {
            self.signals.ring(&name);
            self.listening.tell(&name);
        }
    }
}

#[async_trait]
impl PipelineStore for PostgresStore {
    async fn apply_pipeline(&self, definition: Definition) -> Result<std::result::Result<Applied, Taken>> {
        let stages: Vec<&str> = definition.stages.iter().map(|stage| stage.name.as_str()).collect();
        let version = definition.version as i32;
        let sql = include_str!("../../queries/pipeline/apply.sql");
        let made = self
            .database
            .write(sql, &[&definition.name, &version, &definition.encode(), &stages, &self.actor.as_str()])
            .await?;
        if !made.is_empty() {
            return Ok(Ok(Applied::Created));
        }
        let known = self.pipeline(&definition.name, Some(definition.version)).await?;
        let same = known.is_some_and(|known| known.definition.same_graph(&definition));
        Ok(if same { Ok(Applied::Same) } else { Err(Taken) })
    }

    async fn pipeline(&self, name: &str, version: Option<u32>) -> Result<Option<PipelineInfo>> {
        let version = version.map(|version| version as i32);
        let sql = "select * from tenure.show_pipeline($1, $2)";
        let rows = self.database.read(sql, &[&name, &version]).await?;
        rows.first().map(row::pipeline).transpose()
    }

    async fn pipelines(&self, after: Option<&str>, limit: u32) -> Result<Page<PipelineInfo>> {
        let ask = i64::from(limit) + 1;
        let sql = include_str!("../../queries/pipeline/definitions.sql");
        let rows = self.database.read(sql, &[&after, &ask]).await?;
        page(&rows, limit, row::pipeline)
    }

    async fn start_run(&self, run: NewRun) -> Result<std::result::Result<RunId, StartRefusal>> {
        let Some(found) = self.pipeline(&run.pipeline, run.version).await? else {
            return Ok(Err(StartRefusal::Absent));
        };
        let stages = &found.definition.stages;
        let stages: Value = stages
            .iter()
            .map(|stage| {
                json!({
                    "name": stage.name,
                    "needs": stage.needs,
                    "priority": stage.priority,
                    "lease_ms": stage.lease_ms,
                    "attempts_max": stage.attempts_max,
                    "backoff": stage.backoff.map(backoff_parts),
                    "segmented": stage.segmented,
                })
            })
            .collect();
        let version = found.definition.version as i32;
        for _ in 0..START_TRIES {
            let row = first(
                self.database
                    .write(
                        "select * from tenure.start_run($1, $2, $3, $4, $5)",
                        &[&run.pipeline, &version, &run.input, &stages, &run.key],
                    )
                    .await?,
            )?;
            let Some(id) = get::<Option<i64>>(&row, "id")?.map(RunId) else { continue };
            if get(&row, "begun")? {
                self.wake_pipelines(None, true);
                return Ok(Ok(id));
            }
            let Some((holder, _)) = self.run(id).await? else { continue };
            return Ok(if run.is(&holder) { Ok(id) } else { Err(StartRefusal::KeyTaken(id)) });
        }
        Err(StoreError::unavailable("the run that holds this key is removed again and again"))
    }

    async fn claim_units(&self, claim: Claim) -> Result<Option<Claims>> {
        claim::claim(self, claim).await
    }

    async fn beat_units(&self, beats: Vec<Beat>) -> Result<Vec<Fenced<Beaten>>> {
        finish::heartbeat(self, beats).await
    }

    async fn finish_unit(&self, ending: Ending) -> Result<std::result::Result<Ended, Refusal>> {
        finish::finish(self, ending).await
    }

    async fn advance_runs(&self, max: u32) -> Result<Advanced> {
        let max = max as i32;
        let row = first(self.database.write("select * from tenure.advance_runs($1)", &[&max]).await?)?;
        let count = |column| get::<i32>(&row, column).map(|n| n as u32);
        let pipelines: Vec<String> = get(&row, "pipelines")?;
        self.wake_pipelines(pipelines.iter().map(String::as_str), false);
        Ok(Advanced {
            runs: count("runs")?,
            readied: count("readied")?,
            retried: count("retried")?,
            settled: count("settled")?,
            again_in_ms: get::<Option<i64>>(&row, "again_in_ms")?.map(|ms| ms as u64),
        })
    }

    async fn recover_units(&self, max: u32) -> Result<Recovered> {
        let max = max as i32;
        let sql = "select * from tenure.recover_pipeline($1, null, null)";
        let row = first(self.database.write(sql, &[&max]).await?)?;
        let count = |column| get::<i32>(&row, column).map(|n| n as u32);
        let recovered = Recovered { returned: count("returned")?, failed: count("failed")? };
        if recovered != Recovered::default() {
            self.signals.ring_all();
        }
        Ok(recovered)
    }

    async fn operate_run(&self, id: RunId, action: RunAction) -> Result<std::result::Result<RunStatus, RunRefusal>> {
        let (word, why, units) = match action {
            RunAction::Cancel { reason } => ("cancel", reason, Vec::new()),
            RunAction::Retry => ("retry", None, Vec::new()),
            RunAction::RetryFrom { stage } => ("retry_from", None, vec![(stage, None)]),
            RunAction::Repair { units } => ("repair", None, units),
            RunAction::Pause => ("pause", None, Vec::new()),
            RunAction::Resume => ("resume", None, Vec::new()),
        };
        let graph: Vec<(String, Vec<String>)> = match units.is_empty() {
            true => Vec::new(),
            false => {
                let found = self.run(id).await?;
                let stages = found.into_iter().flat_map(|(_, stages)| stages);
                stages.map(|of| (of.unit.stage, of.unit.needs)).collect()
            }
        };
        let named: BTreeSet<&str> = units.iter().map(|(stage, _)| stage.as_str()).collect();
        let after: BTreeSet<&str> = named.iter().flat_map(|of| downstream(&graph, &BTreeSet::from([*of]))).collect();
        let begin: BTreeSet<&str> = named.difference(&after).copied().collect();
        let later: Vec<&str> = downstream(&graph, &begin).into_iter().collect();
        let begin: Vec<&str> = begin.into_iter().collect();
        let stages: Vec<&str> = units.iter().map(|(stage, _)| stage.as_str()).collect();
        let segments: Vec<&str> = units.iter().map(|(_, segment)| segment.as_deref().unwrap_or("")).collect();
        let row = first(
            self.database
                .write(
                    "select * from tenure.operate_run($1, $2, $3, $4, $5, $6, $7, $8)",
                    &[&id.0, &word, &why, &stages, &segments, &begin, &later, &self.actor.as_str()],
                )
                .await?,
        )?;
        if let Some(word) = get::<Option<&str>>(&row, "refused")? {
            let refusal = RunRefusal::parse(word);
            return Ok(Err(refusal.ok_or_else(|| StoreError::broken(format!("refused for `{word}`")))?));
        }
        self.wake_pipelines(get::<Option<&str>>(&row, "pipeline")?, true);
        let word: &str = get(&row, "status")?;
        Ok(Ok(RunStatus::parse(word).ok_or_else(|| StoreError::broken(format!("status `{word}`")))?))
    }

    async fn run(&self, id: RunId) -> Result<Option<(Run, Vec<StageInfo>)>> {
        let sql = "select * from tenure.show_run($1)";
        let rows = self.database.read(sql, &[&id.0]).await?;
        let Some(run) = rows.first().map(row::run).transpose()? else { return Ok(None) };
        let sql = "select * from tenure.show_stages($1)";
        let rows = self.database.read(sql, &[&id.0]).await?;
        Ok(Some((run, rows.iter().map(row::stage).collect::<Result<_>>()?)))
    }

    async fn runs(&self, filter: Filter, before: Option<RunId>, limit: u32) -> Result<Page<Run>> {
        let status = filter.status.map(RunStatus::as_str);
        let (before, ask) = (before.map_or(i64::MAX, |id| id.0), i64::from(limit) + 1);
        let sql = include_str!("../../queries/pipeline/runs.sql");
        let rows = self.database.read(sql, &[&filter.pipeline, &status, &before, &ask]).await?;
        page(&rows, limit, row::run)
    }

    async fn segments(&self, id: RunId, stage: &str, after: Option<i64>, limit: u32) -> Result<Page<Unit>> {
        let (after, ask) = (after.unwrap_or(0), i64::from(limit) + 1);
        let sql = "select * from tenure.show_segments($1, $2, $3, $4)";
        let rows = self.database.read(sql, &[&id.0, &stage, &after, &ask]).await?;
        page(&rows, limit, row::unit)
    }

    async fn run_history(&self, id: RunId, limit: u32) -> Result<History> {
        let limit = i64::from(limit);
        let sql = include_str!("../../queries/pipeline/attempts.sql");
        let rows = self.database.read(sql, &[&id.0, &limit]).await?;
        let attempts = rows.iter().rev().map(row::attempt).collect::<Result<_>>()?;
        let sql = include_str!("../../queries/pipeline/events.sql");
        let rows = self.database.read(sql, &[&id.0, &limit]).await?;
        Ok(History { attempts, events: rows.iter().rev().map(row::event).collect::<Result<_>>()? })
    }

    async fn prune_runs(&self, max: u32) -> Result<u32> {
        let (max, kept) = (max as i32, RETENTION_MS as i64);
        let sql = "select tenure.prune_runs($1, $2) as pruned";
        let row = first(self.database.write(sql, &[&max, &kept]).await?)?;
        Ok(get::<i32>(&row, "pruned")? as u32)
    }
}
