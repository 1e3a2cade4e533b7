//! `POST /v1/syncs/{id}/release`.

use super::end;
use crate::app::App;
use crate::refused::Refused;
use crate::sent::{Named, SINGLE, Sent};
use axum::Json;
use axum::extract::State;
use tenure::sync::Unit;
use tenure_wire::reply::sync::SyncEnded;
use tenure_wire::request::sync as request;

/// Gives a sync back; its chunks stay with their holders.
#[utoipa::path(
    post,
    path = "/v1/syncs/{id}/release",
    tag = "syncs",
    operation_id = "release_sync",
    params(("id" = String, Path, description = "The sync.")),
    request_body(content = ref("#/components/schemas/SyncHolder"), content_type = "application/json"),
    responses((status = 200, body = SyncEnded))
)]
pub(in crate::routes) async fn release(
    State(app): State<App>,
    Named(id): Named,
    sent: Sent<SINGLE>,
) -> Result<Json<SyncEnded>, Refused> {
    let ending = request::release(sent.body()?, Unit::sync(request::sync_id(&id)))?;
    end(app, ending).await
}
