//! `POST /v1/syncs/{id}/complete`.

use super::end;
use crate::app::App;
use crate::refused::Refused;
use crate::sent::{Named, SINGLE, Sent};
use axum::Json;
use axum::extract::State;
use tenure::sync::Unit;
use tenure_wire::reply::sync::SyncEnded;
use tenure_wire::request::sync as request;

/// Completes a sync, once every planned chunk is synced.
///
/// 409 `sync_incomplete` otherwise, with how many are `left` and how many `failed`.
#[utoipa::path(
    post,
    path = "/v1/syncs/{id}/complete",
    tag = "syncs",
    operation_id = "complete_sync",
    params(("id" = String, Path, description = "The sync.")),
    request_body(content = ref("#/components/schemas/SyncHolder"), content_type = "application/json"),
    responses((status = 200, body = SyncEnded))
)]
pub(in crate::routes) async fn complete(
    State(app): State<App>,
    Named(id): Named,
    sent: Sent<SINGLE>,
) -> Result<Json<SyncEnded>, Refused> {
    let ending = request::complete(sent.body()?, Unit::sync(request::sync_id(&id)))?;
    end(app, ending).await
}
