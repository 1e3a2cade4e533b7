//! `POST /v1/jobs/{id}/heartbeat`.

use crate::app::App;
use crate::refused::Refused;
use crate::sent::{Named, SINGLE, Sent};
use axum::Json;
use axum::extract::State;
use tenure_wire::{reply, request};

/// Renews a lease, and carries progress and a checkpoint.
#[utoipa::path(
    post,
    path = "/v1/jobs/{id}/heartbeat",
    tag = "jobs",
    params(("id" = String, Path, description = "The job.")),
    request_body(content = ref("#/components/schemas/Heartbeat"), content_type = "application/json"),
    responses((status = 200, body = reply::Beaten))
)]
pub(in crate::routes) async fn heartbeat(
    State(app): State<App>,
    Named(id): Named,
    sent: Sent<SINGLE>,
) -> Result<Json<reply::Beaten>, Refused> {
    let beat = request::heartbeat(sent.body()?, request::job_id(&id))?;
    let beaten = app.ask(app.tenure.heartbeat(beat)).await?;
    Ok(Json(beaten.into()))
}
