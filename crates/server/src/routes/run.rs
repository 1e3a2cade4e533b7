//! Runs: what the holders of their stages and segments write, what an operator does with them, and what anyone may read.

use super::found;
use crate::api::Api;
use crate::app::App;
use crate::refused::Refused;
use axum::Json;
use tenure::pipeline::{Beat, Ended, Ending, Event, Filter, RunAction, RunId, RunStatus, UnitKey};
use tenure_wire::pipeline::request::run_id;
use tenure_wire::pipeline::{reply, request};
use tenure_wire::reply::Timeline;

const RUN: (&str, &str) = ("id", "The run.");
const STAGE: [(&str, &str); 2] = [RUN, ("stage", "The stage.")];
const SEGMENT: [(&str, &str); 3] = [RUN, STAGE[1], ("segment", "The segment.")];

fn run([id]: [String; 1]) -> RunId {
    run_id(&id)
}

fn stage([id, stage]: [String; 2]) -> UnitKey {
    UnitKey::stage(run_id(&id), stage)
}

fn segment([id, stage, segment]: [String; 3]) -> UnitKey {
    UnitKey::segment(run_id(&id), stage, segment)
}

pub(super) fn routes(api: &mut Api) {
    reads(api);
    operators(api);
    holders(api, "/v1/runs/{id}/stages/{stage}", "stage", &STAGE, stage);
    holders(api, "/v1/runs/{id}/stages/{stage}/segments/{segment}", "segment", &SEGMENT, segment);
    api.post(
        "/v1/runs/{id}/stages/{stage}/split",
        "runs",
        "split_stage",
        "Cuts the stage into segments, which others work on.",
    )
    .named(&STAGE)
    .takes(&request::SPLIT, stage, end);
}

fn reads(api: &mut Api) {
    api.get("/v1/runs", "runs", "list_runs", "Runs that match, newest first.")
        .only("pipeline", "Only of this pipeline.")
        .only("status", "Only in this state: RUNNING, DONE or ERROR.")
        .pages("Runs")
        .lists(|app, [], sent| async move {
            let status = sent.read_as("status", "RUNNING, DONE or ERROR", RunStatus::parse)?;
            let filter = Filter { pipeline: sent.text("pipeline"), status };
            let before = sent.cursor(|cursor| cursor.parse().ok())?;
            let page = app.ask(app.tenure.verbs().runs(filter, before, sent.limit()?)).await?;
            Ok(Json(reply::Runs::from(page)))
        });
    let about = "The segments of a stage with their outputs, in the order of the split.";
    api.get("/v1/runs/{id}/stages/{stage}/segments", "runs", "list_segments", about)
        .named(&STAGE)
        .pages("Segments")
        .lists(|app, [id, stage], sent| async move {
            let after = sent.cursor(|cursor| cursor.parse().ok())?;
            let page = app.ask(app.tenure.verbs().segments(run_id(&id), &stage, after, sent.limit()?)).await?;
            Ok(Json(reply::SegmentPage::from(page)))
        });
    api.get("/v1/runs/{id}", "runs", "show_run", "All that is known of a run and its stages.").named(&[RUN]).shows(
        |app, id| async move {
            let shown = app.ask(app.tenure.verbs().run(run(id))).await?;
            Ok(Json(reply::Run::whole(found("this run", shown)?)))
        },
    );
    let about = "What happened to a run, oldest first.";
    api.get("/v1/runs/{id}/timeline", "runs", "run_timeline", about).named(&[RUN]).with("RunTimeline").shows(
        |app, id| async move {
            let events = app.ask(app.tenure.verbs().run_timeline(run(id))).await?;
            Ok(Json(Timeline::new(found("this run", events)?, Event::message)))
        },
    );
    let about = "What a run waits for: which prerequisite is missing, who holds what.";
    api.get("/v1/runs/{id}/explain", "runs", "explain_run", about).named(&[RUN]).shows(|app, id| async move {
        let explanation = app.ask(app.tenure.verbs().explain_run(run(id))).await?;
        Ok(Json(found("this run", explanation)?))
    });
}

fn operators(api: &mut Api) {
    async fn act(app: App, (run, action): (RunId, RunAction)) -> Result<Json<reply::RunActed>, Refused> {
        Ok(Json(reply::RunActed { status: app.ask(app.operator().verbs().operate_run(run, action)).await? }))
    }
    for (verb, request, about) in [
        (
            "cancel",
            &request::CANCEL,
            "Ends a run now; its holders are told `lease_lost` with `cancelled`. The body may be left out. 409 `terminal` if \
             it has ended.",
        ),
        (
            "retry",
            &request::RETRY,
            "Tries again what failed for good, or begins again from a stage. 409 `not_terminal` while it runs.",
        ),
        ("pause", &request::PAUSE, "Hands out none of a run's stages until it is resumed; holders go on."),
        ("resume", &request::RESUME, "Hands out the stages of a paused run again."),
    ] {
        api.post(format!("/v1/runs/{{id}}/{verb}"), "operator", &format!("{verb}_run"), about)
            .named(&[RUN])
            .takes(request, run, act);
    }
}

async fn end(app: App, ending: Ending) -> Result<Json<Ended>, Refused> {
    Ok(Json(app.ask(app.tenure.stage_worker().finish(ending)).await?))
}

/// What the holder of a unit writes, be it a stage or a segment.
fn holders<const N: usize>(
    api: &mut Api,
    path: &str,
    noun: &str,
    names: &[(&'static str, &str)],
    unit: fn([String; N]) -> UnitKey,
) {
    async fn beat(app: App, beat: Beat) -> Result<Json<reply::UnitBeaten>, Refused> {
        let beaten = app.ask(app.tenure.stage_worker().heartbeat(beat)).await?;
        Ok(Json(reply::UnitBeaten { lease_expires_at: beaten.lease_expires_at, cancel_requested: false }))
    }
    let about = "Renews the lease, and records progress and what was made.";
    api.post(format!("{path}/heartbeat"), "runs", &format!("heartbeat_{noun}"), about).named(names).takes(
        &request::HEARTBEAT,
        unit,
        beat,
    );
    for (verb, request, about) in [
        ("complete", &request::COMPLETE, "Ends the claim as done."),
        ("fail", &request::FAIL, "Ends the claim as failed, to be tried again while there are attempts."),
        ("release", &request::RELEASE, "Gives it back, without counting the attempt."),
    ] {
        api.post(format!("{path}/{verb}"), "runs", &format!("{verb}_{noun}"), about)
            .named(names)
            .takes(request, unit, end);
    }
}
