//! `POST /v1/syncs/{id}/chunks`.

use crate::app::App;
use crate::refused::Refused;
use crate::sent::{BULK, Named, Sent};
use axum::Json;
use axum::extract::State;
use tenure_wire::reply::sync::Planned;
use tenure_wire::request::sync as request;

/// Adds chunks to a sync that has not ended; those it has already stay as they are.
#[utoipa::path(
    post,
    path = "/v1/syncs/{id}/chunks",
    tag = "syncs",
    operation_id = "add_chunks",
    params(("id" = String, Path, description = "The sync.")),
    request_body(content = ref("#/components/schemas/SyncChunks"), content_type = "application/json"),
    responses((status = 200, body = Planned))
)]
pub(in crate::routes) async fn add(
    State(app): State<App>,
    Named(id): Named,
    sent: Sent<BULK>,
) -> Result<Json<Planned>, Refused> {
    let chunks = request::add(sent.body()?)?;
    let planned = app.ask(app.tenure.add_chunks(request::sync_id(&id), chunks)).await?;
    Ok(Json(planned.into()))
}
