//! `GET /v1/jobs/{id}/timeline`.

use crate::app::App;
use crate::refused::Refused;
use crate::sent::Named;
use axum::Json;
use axum::extract::State;
use tenure_wire::{Problem, reply, request};

/// Everything that is known to have happened to a job, oldest first.
#[utoipa::path(
    get,
    path = "/v1/jobs/{id}/timeline",
    tag = "jobs",
    params(("id" = String, Path, description = "The job.")),
    responses((status = 200, body = reply::Timeline))
)]
pub(in crate::routes) async fn timeline(
    State(app): State<App>,
    Named(id): Named,
) -> Result<Json<reply::Timeline>, Refused> {
    let events = app.ask(app.tenure.timeline(request::job_id(&id))).await?;
    Ok(Json(events.ok_or_else(|| Problem::absent("this job"))?.into()))
}
