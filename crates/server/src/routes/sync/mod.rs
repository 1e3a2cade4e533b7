//! Syncs: what planners, workers and operators do with them, and what anyone may read.

pub(super) mod add;
pub(super) mod cancel;
pub(super) mod chunk;
pub(super) mod claim;
pub(super) mod complete;
pub(super) mod fail;
pub(super) mod heartbeat;
pub(super) mod list;
pub(super) mod plan;
pub(super) mod release;
pub(super) mod show;
pub(super) mod timeline;

use crate::app::App;
use crate::refused::Refused;
use axum::Json;
use axum::extract::{FromRequestParts, Path};
use axum::http::StatusCode;
use axum::http::request::Parts;
use tenure::sync::{Ending, Unit};
use tenure_wire::reply::sync::SyncEnded;
use tenure_wire::request::sync::sync_id;

/// The part of the path that names a chunk: its sync and its hash, decoded.
pub(super) struct ChunkNamed(pub(super) Unit);

impl FromRequestParts<App> for ChunkNamed {
    type Rejection = Refused;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Refused> {
        let Path((id, hash)) = Path::<(String, String)>::from_request_parts(parts, app).await.map_err(|_| {
            Refused::new(StatusCode::BAD_REQUEST, "not_utf8", "the path is not UTF-8 under its percent-encoding")
        })?;
        Ok(ChunkNamed(Unit::chunk(sync_id(&id), hash)))
    }
}

/// Ends a claim of a sync or a chunk.
async fn end(app: App, ending: Ending) -> Result<Json<SyncEnded>, Refused> {
    let ended = app.ask(app.tenure.finish_sync(ending)).await?;
    Ok(Json(ended.into()))
}
