//! `GET /v1/runs/{id}/timeline`.

use crate::app::App;
use crate::refused::Refused;
use crate::sent::Named;
use axum::Json;
use axum::extract::State;
use tenure_wire::{Problem, pipeline};

/// What happened to a run, oldest first.
#[utoipa::path(
    get,
    path = "/v1/runs/{id}/timeline",
    tag = "runs",
    operation_id = "run_timeline",
    params(
        ("id" = String, Path, description = "The run."),
    ),
    responses((status = 200, body = pipeline::RunTimeline))
)]
pub(in crate::routes) async fn timeline(
    State(app): State<App>,
    Named(id): Named,
) -> Result<Json<pipeline::RunTimeline>, Refused> {
    let events = app.ask(app.tenure.run_timeline(pipeline::run_id(&id))).await?;
    Ok(Json(events.ok_or_else(|| Problem::absent("this run"))?.into()))
}
