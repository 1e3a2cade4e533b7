//! `GET /v1/limits/timeline`.

use crate::app::App;
use crate::refused::Refused;
use axum::Json;
use axum::extract::State;
use tenure::changes::Subject;
use tenure_wire::reply;

/// What was changed about the whole store, oldest first, and by whom: its limits, and the epoch of its tokens.
#[utoipa::path(
    get,
    path = "/v1/limits/timeline",
    tag = "queues",
    operation_id = "limits_timeline",
    responses((status = 200, body = reply::Changes))
)]
pub(in crate::routes) async fn timeline(State(app): State<App>) -> Result<Json<reply::Changes>, Refused> {
    let changes = app.ask(app.tenure.changes(Subject::store())).await?;
    Ok(Json(changes.unwrap_or_default().into()))
}
