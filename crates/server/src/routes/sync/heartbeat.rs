//! `POST /v1/syncs/{id}/heartbeat`.

use crate::app::App;
use crate::refused::Refused;
use crate::sent::{Named, SINGLE, Sent};
use axum::Json;
use axum::extract::State;
use tenure::sync::Unit;
use tenure_wire::reply::sync::SyncBeaten;
use tenure_wire::request::sync as request;

/// Renews the lease of a sync.
#[utoipa::path(
    post,
    path = "/v1/syncs/{id}/heartbeat",
    tag = "syncs",
    operation_id = "heartbeat_sync",
    params(("id" = String, Path, description = "The sync.")),
    request_body(content = ref("#/components/schemas/SyncHolder"), content_type = "application/json"),
    responses((status = 200, body = SyncBeaten))
)]
pub(in crate::routes) async fn heartbeat(
    State(app): State<App>,
    Named(id): Named,
    sent: Sent<SINGLE>,
) -> Result<Json<SyncBeaten>, Refused> {
    let beat = request::heartbeat(sent.body()?, Unit::sync(request::sync_id(&id)))?;
    let until = app.ask(app.tenure.heartbeat_sync(beat)).await?;
    Ok(Json(until.into()))
}
