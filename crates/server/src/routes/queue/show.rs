//! `GET /v1/queues/{queue}`.

use crate::app::App;
use crate::refused::Refused;
use crate::sent::Named;
use axum::Json;
use axum::extract::State;
use tenure_wire::{Problem, reply};

/// A queue and what it holds.
#[utoipa::path(
    get,
    path = "/v1/queues/{queue}",
    tag = "queues",
    operation_id = "show_queue",
    params(("queue" = String, Path, description = "The queue.")),
    responses((status = 200, body = reply::Queue))
)]
pub(in crate::routes) async fn show(State(app): State<App>, Named(name): Named) -> Result<Json<reply::Queue>, Refused> {
    let queue = app.ask(app.tenure.queue(&name)).await?;
    Ok(Json(queue.ok_or_else(|| Problem::absent("this queue"))?.into()))
}
