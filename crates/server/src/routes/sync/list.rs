//! `GET /v1/syncs`.

use crate::app::App;
use crate::query::Parameters;
use crate::refused::Refused;
use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use tenure::sync::{State as SyncState, SyncFilter};
use tenure_wire::reply::sync::Syncs;

/// Syncs that match, newest first.
#[utoipa::path(
    get,
    path = "/v1/syncs",
    tag = "syncs",
    operation_id = "list_syncs",
    params(
        ("matrix_id" = Option<String>, Query, description = "Only of this matrix."),
        ("state" = Option<String>, Query, description = "Only in this state."),
        ("cursor" = Option<String>, Query, description = "The `next_cursor` of the page before."),
        ("limit" = Option<u32>, Query, description = "Syncs in a page, 1 to 1,000; default 100."),
    ),
    responses((status = 200, body = Syncs))
)]
pub(in crate::routes) async fn list(State(app): State<App>, uri: Uri) -> Result<Json<Syncs>, Refused> {
    let sent = Parameters::read(&uri, &["matrix_id", "state", "cursor", "limit"])?;
    let filter = SyncFilter {
        matrix_id: sent.get("matrix_id").map(str::to_owned),
        state: sent.read_as("state", super::show::STATES, SyncState::parse)?,
    };
    let before = sent.read_as("cursor", "the next_cursor of an earlier page", |cursor| cursor.parse().ok())?;
    let limit = sent.limit()?;
    let page = app.ask(app.tenure.syncs(filter, before, limit)).await?;
    Ok(Json(page.into()))
}
