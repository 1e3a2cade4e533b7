//! `GET /v1/schedules/{name}/timeline`.

use crate::app::App;
use crate::refused::Refused;
use crate::sent::Named;
use axum::Json;
use axum::extract::State;
use tenure::changes::{Face, Subject};
use tenure_wire::{Problem, reply};

/// What was changed about a schedule, oldest first, and by whom.
#[utoipa::path(
    get,
    path = "/v1/schedules/{name}/timeline",
    tag = "schedules",
    operation_id = "schedule_timeline",
    params(("name" = String, Path, description = "The schedule; it may have been removed.")),
    responses((status = 200, body = reply::Changes))
)]
pub(in crate::routes) async fn timeline(
    State(app): State<App>,
    Named(name): Named,
) -> Result<Json<reply::Changes>, Refused> {
    let changes = app.ask(app.tenure.changes(Subject::new(Face::Schedule, name))).await?;
    Ok(Json(changes.ok_or_else(|| Problem::absent("this schedule"))?.into()))
}
