//! Pipelines: their definitions, their runs' start, and where their stages are claimed.

use super::{changes, found, name, nothing};
use crate::api::Api;
use axum::Json;
use axum::http::StatusCode;
use tenure::changes::{Face, Subject};
use tenure::pipeline::Applied;
use tenure_wire::pipeline::{reply, request};

const PIPELINE: [(&str, &str); 1] = [("name", "The pipeline.")];
const THIS: &str = "this pipeline";

pub(super) fn routes(api: &mut Api) {
    let about = "Pipelines by name, each with its highest version.";
    api.get("/v1/pipelines", "pipelines", "list_pipelines", about).pages("Pipelines").lists(
        |app, [], sent| async move {
            let page = app.ask(app.tenure.verbs().pipelines(sent.cursor_name()?.as_deref(), sent.limit()?)).await?;
            Ok(Json(reply::Pipelines::from(page)))
        },
    );
    let about = "Puts a version of a pipeline on record: 201 if it is new, 200 if the same graph was there; another graph is 409.";
    api.post("/v1/pipelines", "pipelines", "apply_pipeline", about).takes(
        &request::APPLY,
        nothing,
        |app, definition| async move {
            let (name, version) = (definition.name.clone(), definition.version);
            let applied = app.ask(app.operator().verbs().apply_pipeline(definition)).await?;
            let info = app.ask(app.tenure.verbs().pipeline(&name, Some(version))).await?;
            let status = if applied == Applied::Created { StatusCode::CREATED } else { StatusCode::OK };
            Ok((status, Json(reply::Pipeline::from(found(THIS, info)?))))
        },
    );
    api.get("/v1/pipelines/{name}", "pipelines", "show_pipeline", "The highest version of a pipeline.")
        .named(&PIPELINE)
        .shows(|app, [name]| async move {
            let info = app.ask(app.tenure.verbs().pipeline(&name, None)).await?;
            Ok(Json(reply::Pipeline::from(found(THIS, info)?)))
        });
    let about = "Which versions of a pipeline were put on record, oldest first, and by whom.";
    api.get("/v1/pipelines/{name}/timeline", "pipelines", "pipeline_timeline", about)
        .named(&PIPELINE)
        .shows(|app, [name]| changes(app, Subject::new(Face::Pipeline, name), THIS));
    api.post("/v1/pipelines/{name}/runs", "pipelines", "start_run", "Starts a run, every stage NEW.")
        .named(&PIPELINE)
        .takes(&request::START, name, |app, new| async move {
            let id = app.ask(app.tenure.verbs().start_run(new)).await?;
            let run = found("this run", app.ask(app.tenure.verbs().run(id)).await?)?;
            Ok((StatusCode::CREATED, Json(reply::Run::whole(run))))
        });
    let about = "Takes stages and segments that are READY, waiting up to `wait_ms` for the first.";
    api.post("/v1/pipelines/{name}/stages/{stage}/claim", "pipelines", "claim_units", about)
        .named(&[("name", "The pipeline, in all its versions."), ("stage", "The stage.")])
        .takes(
            &request::CLAIM,
            |names| names,
            |app, (claim, wait)| async move {
                Ok(Json(reply::ClaimedUnits::from(app.claim_units(claim, wait).await?)))
            },
        );
}
