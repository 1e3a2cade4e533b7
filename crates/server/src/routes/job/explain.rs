//! `GET /v1/jobs/{id}/explain`.

use crate::app::App;
use crate::refused::Refused;
use crate::sent::Named;
use axum::Json;
use axum::extract::State;
use tenure_wire::{Problem, reply, request};

/// Why a job is not running now, in one sentence and its reasons.
#[utoipa::path(
    get,
    path = "/v1/jobs/{id}/explain",
    tag = "jobs",
    params(("id" = String, Path, description = "The job.")),
    responses((status = 200, body = reply::Explanation))
)]
pub(in crate::routes) async fn explain(
    State(app): State<App>,
    Named(id): Named,
) -> Result<Json<reply::Explanation>, Refused> {
    let explanation = app.ask(app.tenure.explain(request::job_id(&id))).await?;
    Ok(Json(explanation.ok_or_else(|| Problem::absent("this job"))?.into()))
}
