//! Requests about pipelines, runs and units.

use super::shape;
use crate::problem::Problem;
use crate::queue::shape as of_jobs;
use crate::read::Object;
use crate::request::{Request, backoff, failure, holder, json, narrowed};
use std::time::Duration;
use tenure::Token;
use tenure::pipeline::{
    Act, Artifact, Beat, Claim, Definition, Ending, NewRun, NewSegment, Record, RunAction, RunId, Stage, UnitKey, Verb,
};

/// A run's id. What cannot be one names a run that is not on record.
#[must_use]
pub fn run_id(text: &str) -> RunId {
    text.parse().unwrap_or(RunId(0))
}

/// A version of a pipeline.
pub static APPLY: Request<(), Definition> = Request::new(&shape::PIPELINE, |mut object, ()| {
    let name = object.text("name").unwrap_or_default();
    let version = object.int("version").map_or(0, narrowed);
    Ok(Definition { name, version, stages: object.list("stages", |object| Ok(stage(object)))? })
});
/// A run of a pipeline to start.
pub static START: Request<String, NewRun> = Request::new(&shape::RUN, |mut object, pipeline| {
    let input = json(&mut object, "input").unwrap_or_else(|| "null".to_owned());
    Ok(NewRun { pipeline, version: object.int("version").map(narrowed), input, key: object.text("key") })
})
.optional();
/// A claim of units of a pipeline's stage, and how long it may wait.
pub static CLAIM: Request<[String; 2], (Claim, Duration)> =
    Request::new(&shape::CLAIM_UNITS, |mut object, [pipeline, stage]| {
        let mut claim = Claim::new(pipeline, stage, object.text("worker").unwrap_or_default());
        claim.max = object.int("max").map_or(1, narrowed);
        claim.lease_ms = object.int("lease_ms").map(narrowed);
        Ok((claim, Duration::from_millis(object.int("wait_ms").map_or(0, narrowed))))
    });

/// A heartbeat of a unit.
pub static HEARTBEAT: Request<UnitKey, Beat> = Request::new(&shape::UNIT_HEARTBEAT, |mut object, unit| {
    let (owner, token) = holder(&mut object);
    let progress = json(&mut object, "progress");
    Ok(Beat { unit, owner, token, progress, record: record(&mut object, token)? })
});
/// Ends a claim as done.
pub static COMPLETE: Request<UnitKey, Ending> =
    Request::new(&shape::UNIT_COMPLETE, |object, unit| ending(object, unit, Verb::Complete));
/// Ends a claim as failed.
pub static FAIL: Request<UnitKey, Ending> =
    Request::new(&of_jobs::FAIL, |object, unit| ending(object, unit, Verb::Fail));
/// Gives a unit back.
pub static RELEASE: Request<UnitKey, Ending> =
    Request::new(&of_jobs::RELEASE, |object, unit| ending(object, unit, Verb::Release));
/// Cuts a stage into segments.
pub static SPLIT: Request<UnitKey, Ending> =
    Request::new(&shape::UNIT_SPLIT, |object, unit| ending(object, unit, Verb::Split)).bulk();

/// An operator ends a run.
pub static CANCEL: Request<RunId, (RunId, RunAction)> =
    Request::new(&shape::CANCEL_RUN, |mut object, run| Ok((run, RunAction::Cancel { reason: object.text("reason") })))
        .optional();
/// An operator tries a run again.
pub static RETRY: Request<RunId, (RunId, RunAction)> = Request::new(&shape::RETRY_RUN, |mut object, run| {
    let stage = object.text("stage");
    Ok((run, stage.map_or(RunAction::Retry, |stage| RunAction::RetryFrom { stage })))
})
.optional();
/// An operator lets a run rest.
pub static PAUSE: Request<RunId, (RunId, RunAction)> =
    Request::new(&crate::shape::REST, |_, run| Ok((run, RunAction::Pause))).optional();
/// An operator lets a run go on.
pub static RESUME: Request<RunId, (RunId, RunAction)> =
    Request::new(&crate::shape::REST, |_, run| Ok((run, RunAction::Resume))).optional();

fn stage(mut object: Object<'_>) -> Stage {
    let mut stage = Stage::new(object.text("name").unwrap_or_default());
    stage.needs = object.texts("needs").unwrap_or_default();
    stage.lease_ms = object.int("lease_ms").map_or(stage.lease_ms, narrowed);
    stage.attempts_max = object.int("attempts_max").map_or(stage.attempts_max, narrowed);
    stage.priority = object.int("priority").map_or(0, narrowed);
    stage.segmented = object.boolean("segmented").unwrap_or(false);
    stage.backoff = backoff(&mut object, tenure::Backoff::default());
    stage
}

/// What was made under `token`, if anything was said of it.
fn record(object: &mut Object<'_>, token: Token) -> Result<Option<Record>, Problem> {
    if !object.holds("artifacts") {
        return Ok(None);
    }
    let artifacts = object.list("artifacts", |mut sent| {
        Ok(Artifact {
            path: sent.text("path").unwrap_or_default(),
            size: sent.int("size").map_or(0, narrowed),
            blake3: sent.text("blake3").unwrap_or_default(),
        })
    })?;
    Ok(Some(Record { token, artifacts, sealed: None }))
}

fn ending(mut object: Object<'_>, unit: UnitKey, verb: Verb) -> Result<Ending, Problem> {
    let (owner, token) = holder(&mut object);
    let act = match verb {
        Verb::Complete => Act::Complete { output: json(&mut object, "output"), record: record(&mut object, token)? },
        Verb::Fail => {
            let (error, retry) = failure(&mut object)?;
            Act::Fail { error, retry }
        }
        Verb::Release => Act::Release,
        Verb::Split => {
            let segment = |mut sent: Object<'_>| {
                Ok(NewSegment { name: sent.text("name").unwrap_or_default(), input: json(&mut sent, "input") })
            };
            Act::Split { segments: object.list("segments", segment)? }
        }
    };
    Ok(Ending { unit, owner, token, act })
}
