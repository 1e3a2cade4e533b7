//! `GET /v1/queues/{queue}/timeline`.

use crate::app::App;
use crate::refused::Refused;
use crate::sent::Named;
use axum::Json;
use axum::extract::State;
use tenure::changes::{Face, Subject};
use tenure_wire::{Problem, reply};

/// What was changed about a queue, oldest first: which setting, from what to what, and by whom.
#[utoipa::path(
    get,
    path = "/v1/queues/{queue}/timeline",
    tag = "queues",
    operation_id = "queue_timeline",
    params(("queue" = String, Path, description = "The queue.")),
    responses((status = 200, body = reply::Changes))
)]
pub(in crate::routes) async fn timeline(
    State(app): State<App>,
    Named(name): Named,
) -> Result<Json<reply::Changes>, Refused> {
    let changes = app.ask(app.tenure.changes(Subject::new(Face::Queue, name))).await?;
    Ok(Json(changes.ok_or_else(|| Problem::absent("this queue"))?.into()))
}
