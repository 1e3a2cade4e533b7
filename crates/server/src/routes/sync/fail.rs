//! `POST /v1/syncs/{id}/fail`.

use super::end;
use crate::app::App;
use crate::refused::Refused;
use crate::sent::{Named, SINGLE, Sent};
use axum::Json;
use axum::extract::State;
use tenure::sync::Unit;
use tenure_wire::reply::sync::SyncEnded;
use tenure_wire::request::sync as request;

/// Fails a sync, for good; the leases of its chunks end with it.
#[utoipa::path(
    post,
    path = "/v1/syncs/{id}/fail",
    tag = "syncs",
    operation_id = "fail_sync",
    params(("id" = String, Path, description = "The sync.")),
    request_body(content = ref("#/components/schemas/SyncFail"), content_type = "application/json"),
    responses((status = 200, body = SyncEnded))
)]
pub(in crate::routes) async fn fail(
    State(app): State<App>,
    Named(id): Named,
    sent: Sent<SINGLE>,
) -> Result<Json<SyncEnded>, Refused> {
    let ending = request::fail(sent.body()?, Unit::sync(request::sync_id(&id)))?;
    end(app, ending).await
}
