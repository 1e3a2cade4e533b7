//! `POST /v1/jobs/{id}/retry`.

use crate::app::By;
use crate::refused::Refused;
use crate::sent::{Named, SINGLE, Sent};
use axum::Json;
use tenure_wire::{reply, request};

/// Puts a finished job back, with its attempts anew; its token keeps growing.
///
/// The body may be left out. 409 `not_terminal` if it has not ended.
#[utoipa::path(
    post,
    path = "/v1/jobs/{id}/retry",
    tag = "operator",
    params(("id" = String, Path, description = "The job.")),
    request_body(content = ref("#/components/schemas/RetryJob"), content_type = "application/json"),
    responses((status = 200, body = reply::Retried))
)]
pub(in crate::routes) async fn retry(
    By(app): By,
    Named(id): Named,
    sent: Sent<SINGLE>,
) -> Result<Json<reply::Retried>, Refused> {
    request::retry(sent.optional_body()?)?;
    let status = app.ask(app.tenure.retry(request::job_id(&id))).await?;
    Ok(Json(status.into()))
}
