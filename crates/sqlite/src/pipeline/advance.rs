//! The orchestrator's step, and the beginning of runs.

use super::row::{self, backoff_text};
use super::unit::{each, run, save, touch};
use crate::changes;
use crate::column::{all, first, value};
use crate::fault::Done;
use crate::inbox::Step;
use crate::savepoint::{apart, readable};
use crate::sql;
use std::collections::BTreeSet;
use tenure_core::changes::{Difference, Face, Subject, What as Noted};
use tenure_core::pipeline::{
    Advanced, Applied, Definition, NewRun, RETENTION_MS, RunId, RunStatus, StartRefusal, Status, Taken, Unit,
};
use tenure_core::{Actor, Time};
use tenure_store::wake_of_pipeline;

pub(crate) fn apply(step: &Step<'_>, definition: &Definition, by: &Actor) -> Done<Result<Applied, Taken>> {
    let key = (&definition.name, Some(definition.version));
    if let Some(known) = first(step.conn, sql::PIPELINE_DEFINITION, key, row::pipeline)? {
        return Ok(if known.definition.same_graph(definition) { Ok(Applied::Same) } else { Err(Taken) });
    }
    let new = (&definition.name, definition.version, definition.encode(), step.now.0);
    step.conn.prepare_cached(sql::PIPELINE_APPLY)?.execute(new)?;
    for stage in &definition.stages {
        step.conn.prepare_cached(sql::PIPELINE_APPLY_STAGE)?.execute((&definition.name, &stage.name))?;
    }
    let (subject, version) = (Subject::new(Face::Pipeline, &definition.name), Difference::version(definition.version));
    changes::add(step, &subject, by, Noted::Created, Some(&version))?;
    Ok(Ok(Applied::Created))
}

pub(crate) fn start(step: &Step<'_>, new: &NewRun) -> Done<Result<RunId, StartRefusal>> {
    let found = first(step.conn, sql::PIPELINE_DEFINITION, (&new.pipeline, new.version), row::pipeline)?;
    let Some(definition) = found.map(|found| found.definition) else {
        return Ok(Err(StartRefusal::Absent));
    };
    if let Some(key) = &new.key
        && let Some(holder) = first(step.conn, sql::PIPELINE_KEYED, (&new.pipeline, key), row::run)?
    {
        return Ok(if new.is(&holder) { Ok(holder.id) } else { Err(StartRefusal::KeyTaken(holder.id)) });
    }
    let of = (&definition.name, definition.version, &new.input, step.now.0, &new.key);
    let id = RunId(value(step.conn, sql::PIPELINE_START, of)?);
    let mut add = step.conn.prepare_cached(sql::PIPELINE_ADD_UNIT)?;
    for stage in &definition.stages {
        add.execute(rusqlite::params![
            id.0,
            definition.name,
            stage.name,
            "",
            stage.needs.join(","),
            stage.priority,
            stage.lease_ms as i64,
            stage.attempts_max,
            backoff_text(stage.backoff),
            stage.segmented,
            Status::New.as_str(),
            None::<String>,
            false,
            step.now.0,
        ])?;
    }
    touch(step, id, &definition.name)?;
    Ok(Ok(id))
}

pub(crate) fn advance(step: &Step<'_>, max: u32) -> Done<Advanced> {
    let mut advanced = Advanced::default();
    let due: Vec<i64> = all(step.conn, sql::PIPELINE_DUE, (step.now.0, max), |row| row.get(0))?;
    for id in due {
        let released = each(step, id, |mut unit| {
            unit.status = Status::Ready;
            unit.retry_at = None;
            unit.changed_at = step.now;
            save(step, &unit)?;
            step.ring(&wake_of_pipeline(&unit.pipeline));
            Ok(())
        })?;
        advanced.retried += u32::from(released.is_some());
    }
    let touched: Vec<i64> = all(step.conn, sql::PIPELINE_TOUCHED, [max], |row| row.get(0))?;
    for id in touched {
        step.conn.prepare_cached(sql::PIPELINE_UNTOUCH)?.execute([id])?;
        advanced.runs += 1;
        match apart(step.conn, || readable(look(step, RunId(id))))? {
            Ok((readied, settled)) => {
                advanced.readied += readied;
                advanced.settled += u32::from(settled);
            }
            // Set aside, so that the others go on; tried again when something happens in it, or the store is opened.
            Err(fault) => {
                tracing::error!(run = id, fault, "a run could not be looked at and is set aside");
                step.conn.prepare_cached(sql::PIPELINE_RUN_STUCK)?.execute([id])?;
            }
        }
    }
    let next: Option<i64> = value(step.conn, sql::PIPELINE_NEXT_DUE, [])?;
    advanced.again_in_ms = next.map(|at| Time(at + 999).ms_since(step.now));
    Ok(advanced)
}

/// Makes `READY` what can start, and settles the run if nothing can move any more (P1, P2): how many, and whether.
fn look(step: &Step<'_>, id: RunId) -> Done<(u32, bool)> {
    let mut readied = 0;
    let Some(of) = run(step, id)?.filter(|run| run.status == RunStatus::Running) else { return Ok((0, false)) };
    let mut stages = all(step.conn, sql::PIPELINE_STAGES, [id.0], row::unit)?;
    let done: BTreeSet<String> =
        stages.iter().filter(|stage| stage.status == Status::Done).map(|stage| stage.stage.clone()).collect();
    for stage in &mut stages {
        if stage.status != Status::New || !stage.needs.iter().all(|need| done.contains(need)) {
            continue;
        }
        if stage.split && value::<bool>(step.conn, sql::PIPELINE_UNDONE, (id.0, &stage.stage))? {
            continue;
        }
        stage.status = Status::Ready;
        stage.changed_at = step.now;
        save(step, stage)?;
        step.ring(&wake_of_pipeline(&stage.pipeline));
        readied += 1;
    }
    let status = if done.len() == stages.len() {
        RunStatus::Done
    } else {
        for stage in &stages {
            if movable(step, stage)? {
                return Ok((readied, false));
            }
        }
        RunStatus::Error
    };
    let settled = (id.0, status.as_str(), of.paused, Some(step.now.0));
    step.conn.prepare_cached(sql::PIPELINE_SET_RUN)?.execute(settled)?;
    Ok((readied, true))
}

/// Whether a stage, or one of its segments, can still move by itself.
fn movable(step: &Step<'_>, stage: &Unit) -> Done<bool> {
    let itself = match stage.status {
        Status::Ready | Status::Running => true,
        Status::Error => stage.reason.is_none(),
        Status::New | Status::Done => false,
    };
    let of = (stage.run.0, &stage.stage, stage.failed_for_good());
    Ok(itself || (stage.split && value(step.conn, sql::PIPELINE_MOVABLE_SEGMENTS, of)?))
}

pub(crate) fn prune(step: &Step<'_>, max: u32) -> Done<u32> {
    let before = step.now.0.saturating_sub(RETENTION_MS as i64 * 1_000);
    let past: Vec<i64> = all(step.conn, sql::PIPELINE_PAST, (before, max), |row| row.get(0))?;
    for id in &past {
        for statement in [
            sql::PIPELINE_FORGET_UNITS,
            sql::PIPELINE_FORGET_ATTEMPTS,
            sql::PIPELINE_FORGET_EVENTS,
            sql::PIPELINE_UNTOUCH,
            sql::PIPELINE_FORGET_RUN,
        ] {
            step.conn.prepare_cached(statement)?.execute([id])?;
        }
    }
    Ok(past.len() as u32)
}
