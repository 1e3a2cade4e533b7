//! `GET /v1/runs/{id}`.

use crate::app::App;
use crate::refused::Refused;
use crate::sent::Named;
use axum::Json;
use axum::extract::State;
use tenure_wire::{Problem, pipeline};

/// All that is known of a run and its stages.
#[utoipa::path(
    get,
    path = "/v1/runs/{id}",
    tag = "runs",
    operation_id = "show_run",
    params(
        ("id" = String, Path, description = "The run."),
    ),
    responses((status = 200, body = pipeline::Run))
)]
pub(in crate::routes) async fn show(State(app): State<App>, Named(id): Named) -> Result<Json<pipeline::Run>, Refused> {
    let run = app.ask(app.tenure.run(pipeline::run_id(&id))).await?;
    Ok(Json(pipeline::Run::whole(run.ok_or_else(|| Problem::absent("this run"))?)))
}
