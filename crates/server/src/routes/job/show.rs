//! `GET /v1/jobs/{id}`.

use crate::app::App;
use crate::refused::Refused;
use crate::sent::Named;
use axum::Json;
use axum::extract::State;
use tenure_wire::{Problem, reply, request};

/// All that is known of a job, its claims included.
#[utoipa::path(
    get,
    path = "/v1/jobs/{id}",
    tag = "jobs",
    operation_id = "show_job",
    params(("id" = String, Path, description = "The job.")),
    responses((status = 200, body = reply::Job))
)]
pub(in crate::routes) async fn show(State(app): State<App>, Named(id): Named) -> Result<Json<reply::Job>, Refused> {
    let job = app.ask(app.tenure.job(request::job_id(&id))).await?;
    Ok(Json(reply::Job::whole(job.ok_or_else(|| Problem::absent("this job"))?)))
}
