//! `POST /v1/schedules/{name}/resume`.

use super::absent;
use crate::app::By;
use crate::refused::Refused;
use crate::sent::{Named, SINGLE, Sent};
use axum::Json;
use tenure_wire::{reply, request};

/// Ends the rest of a schedule: it goes on with the first slot after now.
///
/// The body may be left out.
#[utoipa::path(
    post,
    path = "/v1/schedules/{name}/resume",
    tag = "schedules",
    operation_id = "resume_schedule",
    params(("name" = String, Path, description = "The schedule.")),
    request_body(content = ref("#/components/schemas/Rest"), content_type = "application/json"),
    responses((status = 200, body = reply::Schedule))
)]
pub(in crate::routes) async fn resume(
    By(app): By,
    Named(name): Named,
    sent: Sent<SINGLE>,
) -> Result<Json<reply::Schedule>, Refused> {
    request::rest(sent.optional_body()?)?;
    let schedule = app.ask(app.tenure.resume_schedule(&name)).await?;
    Ok(Json(schedule.ok_or_else(absent)?.into()))
}
