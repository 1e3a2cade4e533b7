//! `POST /v1/syncs`.

use crate::app::App;
use crate::refused::Refused;
use crate::sent::{BULK, Sent};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use tenure_wire::reply::sync::Planned;
use tenure_wire::request::sync as request;

/// Plans a pass over a matrix, with its chunks: all of them or none.
///
/// 409 `sync_unfinished` names the sync of that matrix that has not ended.
#[utoipa::path(
    post,
    path = "/v1/syncs",
    tag = "syncs",
    operation_id = "plan_sync",
    request_body(content = ref("#/components/schemas/SyncPlan"), content_type = "application/json"),
    responses((status = 201, body = Planned))
)]
pub(in crate::routes) async fn plan(
    State(app): State<App>,
    sent: Sent<BULK>,
) -> Result<(StatusCode, Json<Planned>), Refused> {
    let plan = request::plan(sent.body()?)?;
    let planned = app.ask(app.tenure.plan_sync(plan)).await?;
    Ok((StatusCode::CREATED, Json(planned.into())))
}
