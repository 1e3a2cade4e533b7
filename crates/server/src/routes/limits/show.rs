//! `GET /v1/limits`.

use crate::app::App;
use crate::refused::Refused;
use axum::Json;
use axum::extract::State;
use tenure_wire::reply;

/// The limits of the whole engine.
#[utoipa::path(
    get,
    path = "/v1/limits",
    tag = "queues",
    operation_id = "show_limits",
    responses((status = 200, body = reply::Limits))
)]
pub(in crate::routes) async fn show(State(app): State<App>) -> Result<Json<reply::Limits>, Refused> {
    let max_running = app.ask(app.tenure.limit()).await?;
    Ok(Json(reply::Limits { max_running }))
}
