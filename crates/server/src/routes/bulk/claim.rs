//! `POST /v1/claim`.

use crate::app::App;
use crate::refused::Refused;
use crate::sent::{SINGLE, Sent};
use axum::Json;
use axum::extract::State;
use tenure_wire::{reply, request};

/// Takes jobs that are due from several queues, waiting up to `wait_ms` for the first.
#[utoipa::path(
    post,
    path = "/v1/claim",
    tag = "queues",
    operation_id = "claim_from",
    request_body(content = ref("#/components/schemas/ClaimFrom"), content_type = "application/json"),
    responses((status = 200, body = reply::Claims))
)]
pub(in crate::routes) async fn claim(
    State(app): State<App>,
    sent: Sent<SINGLE>,
) -> Result<Json<reply::Claims>, Refused> {
    let (claim, wait) = request::claim_from(sent.body()?)?;
    Ok(Json(app.claim(claim, wait).await?.into()))
}
