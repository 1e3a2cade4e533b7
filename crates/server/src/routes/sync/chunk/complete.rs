//! `POST /v1/syncs/{id}/chunks/{chunk_hash}/complete`.

use super::super::{ChunkNamed, end};
use crate::app::App;
use crate::refused::Refused;
use crate::sent::{SINGLE, Sent};
use axum::Json;
use axum::extract::State;
use tenure_wire::reply::sync::SyncEnded;
use tenure_wire::request::sync as request;

/// Completes a chunk, with its rows and a cursor for its next sync.
#[utoipa::path(
    post,
    path = "/v1/syncs/{id}/chunks/{chunk_hash}/complete",
    tag = "syncs",
    operation_id = "complete_chunk",
    params(("id" = String, Path, description = "The sync."), ("chunk_hash" = String, Path, description = "The chunk.")),
    request_body(content = ref("#/components/schemas/ChunkComplete"), content_type = "application/json"),
    responses((status = 200, body = SyncEnded))
)]
pub(in crate::routes) async fn complete(
    State(app): State<App>,
    ChunkNamed(unit): ChunkNamed,
    sent: Sent<SINGLE>,
) -> Result<Json<SyncEnded>, Refused> {
    let ending = request::complete(sent.body()?, unit)?;
    end(app, ending).await
}
