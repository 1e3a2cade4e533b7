//! `POST /v1/syncs/{id}/chunks/{chunk_hash}/heartbeat`.

use super::super::ChunkNamed;
use crate::app::App;
use crate::refused::Refused;
use crate::sent::{SINGLE, Sent};
use axum::Json;
use axum::extract::State;
use tenure_wire::reply::sync::SyncBeaten;
use tenure_wire::request::sync as request;

/// Renews the lease of a chunk.
#[utoipa::path(
    post,
    path = "/v1/syncs/{id}/chunks/{chunk_hash}/heartbeat",
    tag = "syncs",
    operation_id = "heartbeat_chunk",
    params(("id" = String, Path, description = "The sync."), ("chunk_hash" = String, Path, description = "The chunk.")),
    request_body(content = ref("#/components/schemas/SyncHolder"), content_type = "application/json"),
    responses((status = 200, body = SyncBeaten))
)]
pub(in crate::routes) async fn heartbeat(
    State(app): State<App>,
    ChunkNamed(unit): ChunkNamed,
    sent: Sent<SINGLE>,
) -> Result<Json<SyncBeaten>, Refused> {
    let beat = request::heartbeat(sent.body()?, unit)?;
    let until = app.ask(app.tenure.heartbeat_sync(beat)).await?;
    Ok(Json(until.into()))
}
