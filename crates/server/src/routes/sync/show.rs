//! `GET /v1/syncs/{id}`.

use crate::app::App;
use crate::query::Parameters;
use crate::refused::Refused;
use crate::sent::Named;
use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use tenure::sync::{ChunkFilter, State as SyncState};
use tenure_wire::Problem;
use tenure_wire::reply::sync::WholeSync;
use tenure_wire::request::sync::sync_id;

/// The words of a state, for refusals.
pub(super) const STATES: &str = "AVAILABLE, RUNNING, EXPIRED, COMPLETED or FAILED";

/// A sync, how far it has come, and a page of its chunks.
#[utoipa::path(
    get,
    path = "/v1/syncs/{id}",
    tag = "syncs",
    operation_id = "show_sync",
    params(
        ("id" = String, Path, description = "The sync."),
        ("state" = Option<String>, Query, description = "Only chunks in this state."),
        ("cursor" = Option<String>, Query, description = "The `next_cursor` of the page before."),
        ("limit" = Option<u32>, Query, description = "Chunks in a page, 1 to 1,000; default 100."),
    ),
    responses((status = 200, body = WholeSync))
)]
pub(in crate::routes) async fn show(
    State(app): State<App>,
    Named(id): Named,
    uri: Uri,
) -> Result<Json<WholeSync>, Refused> {
    let sent = Parameters::read(&uri, &["state", "cursor", "limit"])?;
    let filter = ChunkFilter { state: sent.read_as("state", STATES, SyncState::parse)? };
    let after = sent.read_as("cursor", "the next_cursor of an earlier page", |cursor| cursor.parse().ok())?;
    let limit = sent.limit()?;
    let sync = sync_id(&id);
    let info = app.ask(app.tenure.sync(sync)).await?.ok_or_else(|| Problem::absent("the sync"))?;
    let chunks = app.ask(app.tenure.chunks(sync, filter, after.unwrap_or(0), limit)).await?;
    Ok(Json(WholeSync::new(info, chunks)))
}
