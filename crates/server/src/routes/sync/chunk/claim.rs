//! `POST /v1/syncs/{id}/chunks/claim`.

use crate::app::App;
use crate::refused::Refused;
use crate::sent::{Named, SINGLE, Sent};
use axum::Json;
use axum::extract::State;
use tenure_wire::reply::sync::ChunkClaimed;
use tenure_wire::request::sync as request;

/// Takes the next chunk of a sync, or the one that is named; needs no lease on the sync.
#[utoipa::path(
    post,
    path = "/v1/syncs/{id}/chunks/claim",
    tag = "syncs",
    operation_id = "claim_chunk",
    params(("id" = String, Path, description = "The sync.")),
    request_body(content = ref("#/components/schemas/ChunkClaim"), content_type = "application/json"),
    responses((status = 200, body = ChunkClaimed))
)]
pub(in crate::routes) async fn claim(
    State(app): State<App>,
    Named(id): Named,
    sent: Sent<SINGLE>,
) -> Result<Json<ChunkClaimed>, Refused> {
    let claim = request::claim_chunk(sent.body()?, request::sync_id(&id))?;
    let claimed = app.ask(app.tenure.claim_chunk(claim)).await?;
    Ok(Json(claimed.into()))
}
