//! `GET /v1/schedules/{name}`.

use super::absent;
use crate::app::App;
use crate::refused::Refused;
use crate::sent::Named;
use axum::Json;
use axum::extract::State;
use tenure_wire::reply;

/// A schedule and how it stands.
#[utoipa::path(
    get,
    path = "/v1/schedules/{name}",
    tag = "schedules",
    operation_id = "show_schedule",
    params(("name" = String, Path, description = "The schedule.")),
    responses((status = 200, body = reply::Schedule))
)]
pub(in crate::routes) async fn show(
    State(app): State<App>,
    Named(name): Named,
) -> Result<Json<reply::Schedule>, Refused> {
    let schedule = app.ask(app.tenure.schedule(&name)).await?;
    Ok(Json(schedule.ok_or_else(absent)?.into()))
}
