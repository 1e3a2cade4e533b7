//! `POST /v1/syncs/claim`.

use crate::app::App;
use crate::refused::Refused;
use crate::sent::{SINGLE, Sent};
use axum::Json;
use axum::extract::State;
use tenure_wire::reply::sync::SyncClaimed;
use tenure_wire::request::sync as request;

/// Takes the first sync that waits or whose lease ran out, by priority and age.
#[utoipa::path(
    post,
    path = "/v1/syncs/claim",
    tag = "syncs",
    operation_id = "claim_sync",
    request_body(content = ref("#/components/schemas/SyncClaim"), content_type = "application/json"),
    responses((status = 200, body = SyncClaimed))
)]
pub(in crate::routes) async fn claim(State(app): State<App>, sent: Sent<SINGLE>) -> Result<Json<SyncClaimed>, Refused> {
    let claim = request::claim(sent.body()?)?;
    let claimed = app.ask(app.tenure.claim_sync(claim)).await?;
    Ok(Json(claimed.into()))
}
