//! `GET /v1/runs/{id}/explain`.

use crate::app::App;
use crate::refused::Refused;
use crate::sent::Named;
use axum::Json;
use axum::extract::State;
use tenure_wire::{Problem, pipeline, reply};

/// What a run waits for: which prerequisite is missing, who holds what.
#[utoipa::path(
    get,
    path = "/v1/runs/{id}/explain",
    tag = "runs",
    operation_id = "explain_run",
    params(
        ("id" = String, Path, description = "The run."),
    ),
    responses((status = 200, body = reply::Explanation))
)]
pub(in crate::routes) async fn explain(
    State(app): State<App>,
    Named(id): Named,
) -> Result<Json<reply::Explanation>, Refused> {
    let explanation = app.ask(app.tenure.explain_run(pipeline::run_id(&id))).await?;
    Ok(Json(explanation.ok_or_else(|| Problem::absent("this run"))?.into()))
}
