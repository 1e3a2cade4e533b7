//! `POST /v1/syncs/{id}/chunks/{chunk_hash}/release`.

use super::super::{ChunkNamed, end};
use crate::app::App;
use crate::refused::Refused;
use crate::sent::{SINGLE, Sent};
use axum::Json;
use axum::extract::State;
use tenure_wire::reply::sync::SyncEnded;
use tenure_wire::request::sync as request;

/// Gives a chunk back, without counting the attempt.
#[utoipa::path(
    post,
    path = "/v1/syncs/{id}/chunks/{chunk_hash}/release",
    tag = "syncs",
    operation_id = "release_chunk",
    params(("id" = String, Path, description = "The sync."), ("chunk_hash" = String, Path, description = "The chunk.")),
    request_body(content = ref("#/components/schemas/SyncHolder"), content_type = "application/json"),
    responses((status = 200, body = SyncEnded))
)]
pub(in crate::routes) async fn release(
    State(app): State<App>,
    ChunkNamed(unit): ChunkNamed,
    sent: Sent<SINGLE>,
) -> Result<Json<SyncEnded>, Refused> {
    let ending = request::release(sent.body()?, unit)?;
    end(app, ending).await
}
