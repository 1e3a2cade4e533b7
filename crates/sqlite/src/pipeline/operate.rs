//! What an operator does to runs.

use super::row;
use super::unit::{end, find, open_segments, run, save, tell, touch};
use crate::column::all;
use crate::fault::Done;
use crate::inbox::Step;
use crate::sql;
use std::collections::BTreeSet;
use tenure_core::Actor;
use tenure_core::pipeline::rules::{Settled, reset};
use tenure_core::pipeline::{
    Event, Run, RunAction, RunId, RunRefusal, RunStatus, Status, Unit, UnitKey, What, downstream,
};
use tenure_store::wake_of_pipeline;

type Answer = Result<(), RunRefusal>;

pub(crate) fn operate(
    step: &Step<'_>,
    id: RunId,
    action: &RunAction,
    by: &Actor,
) -> Done<Result<RunStatus, RunRefusal>> {
    let Some(of) = run(step, id)? else { return Ok(Err(RunRefusal::Absent)) };
    let terminal = of.status.terminal();
    let answer = match action {
        RunAction::Cancel { .. } | RunAction::Pause | RunAction::Resume if terminal => Err(RunRefusal::Terminal),
        RunAction::Retry | RunAction::RetryFrom { .. } | RunAction::Repair { .. } if !terminal => {
            Err(RunRefusal::NotTerminal)
        }
        RunAction::Cancel { reason } => cancel(step, &of, reason.as_deref(), by)?,
        RunAction::Pause => pause(step, &of, true, by)?,
        RunAction::Resume => pause(step, &of, false, by)?,
        RunAction::Retry => retry(step, &of, by)?,
        RunAction::RetryFrom { stage } => retry_from(step, &of, stage, by)?,
        RunAction::Repair { units } => repair(step, &of, units, by)?,
    };
    if let Err(refusal) = answer {
        return Ok(Err(refusal));
    }
    step.ring(&wake_of_pipeline(&of.pipeline));
    Ok(Ok(run(step, id)?.map_or(of.status, |run| run.status)))
}

fn set(step: &Step<'_>, of: &Run, status: RunStatus, paused: bool) -> Done<()> {
    let finished_at = status.terminal().then_some(step.now.0);
    step.conn.prepare_cached(sql::PIPELINE_SET_RUN)?.execute((of.id.0, status.as_str(), paused, finished_at))?;
    Ok(())
}

fn cancel(step: &Step<'_>, of: &Run, reason: Option<&str>, by: &Actor) -> Done<Answer> {
    tell(step, &Event::of_run(step.now, of.id, What::Cancelled).acted(by).error(reason))?;
    for unit in all(step.conn, sql::PIPELINE_HELD_OF_RUN, [of.id.0], row::unit)? {
        let settled = Settled::cancelled(&unit);
        end(step, unit, settled, None, None)?;
    }
    step.conn.prepare_cached(sql::PIPELINE_CANCEL_REST)?.execute((of.id.0, step.now.0))?;
    step.conn.prepare_cached(sql::PIPELINE_UNTOUCH)?.execute([of.id.0])?;
    set(step, of, RunStatus::Error, of.paused)?;
    Ok(Ok(()))
}

fn pause(step: &Step<'_>, of: &Run, paused: bool, by: &Actor) -> Done<Answer> {
    if of.paused == paused {
        return Ok(Ok(()));
    }
    let what = if paused { What::Paused } else { What::Resumed };
    tell(step, &Event::of_run(step.now, of.id, what).acted(by))?;
    set(step, of, of.status, paused)?;
    let statement = if paused { sql::PIPELINE_CLOSE_RUN } else { sql::PIPELINE_OPEN_RUN };
    step.conn.prepare_cached(statement)?.execute([of.id.0])?;
    Ok(Ok(()))
}

fn stages(step: &Step<'_>, of: &Run) -> Done<Vec<Unit>> {
    all(step.conn, sql::PIPELINE_STAGES, [of.id.0], row::unit)
}

fn prerequisites_done(unit: &Unit, stages: &[Unit]) -> bool {
    let done = |need: &String| stages.iter().any(|of| of.stage == *need && of.status == Status::Done);
    unit.needs.iter().all(done)
}

fn retry(step: &Step<'_>, of: &Run, by: &Actor) -> Done<Answer> {
    let stages = stages(step, of)?;
    if !stages.iter().any(Unit::failed_for_good) {
        return Ok(Err(RunRefusal::NothingToRetry));
    }
    for stage in stages.iter().filter(|stage| stage.failed_for_good()) {
        tell(step, &Event::of_unit(step.now, of.id, &stage.stage, None, What::RetriedByOperator).acted(by))?;
        let ready = !stage.split && prerequisites_done(stage, &stages);
        let mut unit = stage.clone();
        reset(&mut unit, if ready { Status::Ready } else { Status::New }, step.now);
        save(step, &unit)?;
        if unit.split {
            let anew = (of.id.0, &unit.stage, step.now.0, !of.paused);
            step.conn.prepare_cached(sql::PIPELINE_RETRY_SEGMENTS)?.execute(anew)?;
            open_segments(step, &unit)?;
        }
    }
    reopen(step, of)
}

fn retry_from(step: &Step<'_>, of: &Run, stage: &str, by: &Actor) -> Done<Answer> {
    let stages = stages(step, of)?;
    let Some(unit) = stages.iter().find(|unit| unit.stage == stage) else { return Ok(Err(RunRefusal::NoSuchUnit)) };
    if unit.status == Status::New || !prerequisites_done(unit, &stages) {
        return Ok(Err(RunRefusal::PrerequisiteMissing));
    }
    tell(step, &Event::of_unit(step.now, of.id, stage, None, What::RetriedByOperator).acted(by))?;
    drop_segments(step, unit)?;
    let mut unit = unit.clone();
    reset(&mut unit, Status::Ready, step.now);
    unit.split = false;
    unit.record = None;
    save(step, &unit)?;
    reset_downstream(step, &stages, &BTreeSet::from([stage]))?;
    reopen(step, of)
}

fn repair(step: &Step<'_>, of: &Run, units: &[(String, Option<String>)], by: &Actor) -> Done<Answer> {
    for (stage, segment) in units {
        let key = UnitKey { run: of.id, stage: stage.clone(), segment: segment.clone() };
        let found = find(step, &key)?.zip(find(step, &UnitKey::stage(of.id, stage))?);
        match found {
            None => return Ok(Err(RunRefusal::NoSuchUnit)),
            Some((unit, stage)) if unit.status != Status::Done || stage.status != Status::Done => {
                return Ok(Err(RunRefusal::NotDone));
            }
            Some(_) => {}
        }
    }
    let all_stages = stages(step, of)?;
    let graph = graph(&all_stages);
    let named: BTreeSet<&str> = units.iter().map(|(stage, _)| stage.as_str()).collect();
    let later: BTreeSet<&str> = named.iter().flat_map(|stage| downstream(&graph, &BTreeSet::from([*stage]))).collect();
    let wanted: BTreeSet<(&str, Option<&str>)> =
        units.iter().map(|(stage, segment)| (stage.as_str(), segment.as_deref())).collect();
    for (stage, segment) in &wanted {
        tell(step, &Event::of_unit(step.now, of.id, stage, *segment, What::Repaired).acted(by))?;
    }
    let first: BTreeSet<&str> = named.difference(&later).copied().collect();
    for stage in all_stages.iter().filter(|stage| first.contains(stage.stage.as_str())) {
        let segments: Vec<&str> =
            wanted.iter().filter(|(of, _)| *of == stage.stage).filter_map(|(_, segment)| *segment).collect();
        for segment in &segments {
            if let Some(mut unit) = find(step, &UnitKey::segment(of.id, &stage.stage, *segment))? {
                reset(&mut unit, Status::Ready, step.now);
                save(step, &unit)?;
            }
        }
        let mut unit = stage.clone();
        reset(&mut unit, if segments.is_empty() { Status::Ready } else { Status::New }, step.now);
        save(step, &unit)?;
    }
    reset_downstream(step, &all_stages, &first)?;
    reopen(step, of)
}

fn graph(stages: &[Unit]) -> Vec<(String, Vec<String>)> {
    stages.iter().map(|unit| (unit.stage.clone(), unit.needs.clone())).collect()
}

/// What follows from these stages waits for them again.
fn reset_downstream(step: &Step<'_>, stages: &[Unit], of: &BTreeSet<&str>) -> Done<()> {
    let graph = graph(stages);
    let later = downstream(&graph, of);
    for stage in stages.iter().filter(|stage| later.contains(stage.stage.as_str())) {
        drop_segments(step, stage)?;
        let mut unit = stage.clone();
        if unit.status != Status::New {
            reset(&mut unit, Status::New, step.now);
        }
        unit.split = false;
        save(step, &unit)?;
    }
    Ok(())
}

fn drop_segments(step: &Step<'_>, stage: &Unit) -> Done<()> {
    step.conn.prepare_cached(sql::PIPELINE_DROP_SEGMENTS)?.execute((stage.run.0, &stage.stage))?;
    Ok(())
}

fn reopen(step: &Step<'_>, of: &Run) -> Done<Answer> {
    set(step, of, RunStatus::Running, of.paused)?;
    touch(step, of.id, &of.pipeline)?;
    Ok(Ok(()))
}
