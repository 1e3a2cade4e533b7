//! `DELETE /v1/schedules/{name}`.

use super::absent;
use crate::app::By;
use crate::refused::Refused;
use crate::sent::Named;
use axum::http::StatusCode;

/// Removes a schedule and the record of its firings; the jobs it enqueued stay.
#[utoipa::path(
    delete,
    path = "/v1/schedules/{name}",
    tag = "schedules",
    operation_id = "remove_schedule",
    params(("name" = String, Path, description = "The schedule.")),
    responses((status = 204, description = "It is gone."))
)]
pub(in crate::routes) async fn remove(By(app): By, Named(name): Named) -> Result<StatusCode, Refused> {
    let was_there = app.ask(app.tenure.remove_schedule(&name)).await?;
    if was_there { Ok(StatusCode::NO_CONTENT) } else { Err(absent().into()) }
}
