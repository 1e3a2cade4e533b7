//! `PUT /v1/schedules/{name}`.

use crate::app::By;
use crate::refused::Refused;
use crate::sent::{Named, SINGLE, Sent};
use axum::Json;
use tenure_wire::{reply, request};

/// Puts a schedule in place, as it is sent; only `paused` stays as it is unless sent.
///
/// Other slots than before begin after now. The same slots go on where they were, so that what came due while nobody
/// looked is still caught up with.
#[utoipa::path(
    put,
    path = "/v1/schedules/{name}",
    tag = "schedules",
    operation_id = "put_schedule",
    params(("name" = String, Path, description = "The schedule; created if it is new.")),
    request_body(content = ref("#/components/schemas/NewSchedule"), content_type = "application/json"),
    responses((status = 200, body = reply::Schedule))
)]
pub(in crate::routes) async fn put(
    By(app): By,
    Named(name): Named,
    sent: Sent<SINGLE>,
) -> Result<Json<reply::Schedule>, Refused> {
    let schedule = request::schedule(sent.body()?, &name)?;
    let schedule = app.ask(app.tenure.put_schedule(schedule)).await?;
    Ok(Json(schedule.into()))
}
