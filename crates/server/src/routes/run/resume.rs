//! `POST /v1/runs/{id}/resume`.

use crate::app::By;
use crate::refused::Refused;
use crate::sent::{Named, SINGLE, Sent};
use axum::Json;
use tenure::pipeline::RunAction;
use tenure_wire::{pipeline, request};

/// Hands out the stages of a paused run again.
#[utoipa::path(
    post,
    path = "/v1/runs/{id}/resume",
    tag = "operator",
    operation_id = "resume_run",
    params(
        ("id" = String, Path, description = "The run."),
    ),
    request_body(content = ref("#/components/schemas/RetryJob"), content_type = "application/json"),
    responses((status = 200, body = pipeline::RunActed))
)]
pub(in crate::routes) async fn resume(
    By(app): By,
    Named(id): Named,
    sent: Sent<SINGLE>,
) -> Result<Json<pipeline::RunActed>, Refused> {
    request::retry(sent.optional_body()?)?;
    Ok(Json(app.ask(app.tenure.operate_run(pipeline::run_id(&id), RunAction::Resume)).await?.into()))
}
