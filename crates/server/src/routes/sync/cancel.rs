//! `POST /v1/syncs/{id}/cancel`.

use crate::app::By;
use crate::refused::Refused;
use crate::sent::{Named, SINGLE, Sent};
use axum::Json;
use tenure_wire::reply::sync::SyncCancelled;
use tenure_wire::request::sync as request;

/// Ends a sync at once: whoever holds it or one of its chunks is told `lease_lost` with `cancelled`.
///
/// The body may be left out. 409 `terminal` if it has ended already.
#[utoipa::path(
    post,
    path = "/v1/syncs/{id}/cancel",
    tag = "operator",
    operation_id = "cancel_sync",
    params(("id" = String, Path, description = "The sync.")),
    request_body(content = ref("#/components/schemas/SyncCancel"), content_type = "application/json"),
    responses((status = 200, body = SyncCancelled))
)]
pub(in crate::routes) async fn cancel(
    By(app): By,
    Named(id): Named,
    sent: Sent<SINGLE>,
) -> Result<Json<SyncCancelled>, Refused> {
    let why = request::cancel(sent.optional_body()?)?;
    let state = app.ask(app.tenure.cancel_sync(request::sync_id(&id), why.as_deref())).await?;
    Ok(Json(state.into()))
}
