//! `POST /v1/pipelines/{name}/runs`.

use crate::app::App;
use crate::refused::Refused;
use crate::sent::{Named, SINGLE, Sent};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use tenure_wire::{Problem, pipeline};

/// Starts a run, every stage NEW.
#[utoipa::path(
    post,
    path = "/v1/pipelines/{name}/runs",
    tag = "pipelines",
    operation_id = "start_run",
    params(
        ("name" = String, Path, description = "The pipeline."),
    ),
    request_body(content = ref("#/components/schemas/NewRun"), content_type = "application/json"),
    responses((status = 201, body = pipeline::Run))
)]
pub(in crate::routes) async fn start(
    State(app): State<App>,
    Named(name): Named,
    sent: Sent<SINGLE>,
) -> Result<(StatusCode, Json<pipeline::Run>), Refused> {
    let new = pipeline::run(sent.optional_body()?, &name)?;
    let id = app.ask(app.tenure.start_run(new)).await?;
    let run = app.ask(app.tenure.run(id)).await?.ok_or_else(|| Problem::absent("this run"))?;
    Ok((StatusCode::CREATED, Json(pipeline::Run::whole(run))))
}
