//! `POST /v1/queues/{queue}/claim`.

use crate::app::App;
use crate::refused::Refused;
use crate::sent::{Named, SINGLE, Sent};
use axum::Json;
use axum::extract::State;
use tenure_wire::{reply, request};

/// Takes jobs that are due, waiting up to `wait_ms` for the first.
#[utoipa::path(
    post,
    path = "/v1/queues/{queue}/claim",
    tag = "queues",
    params(("queue" = String, Path, description = "The queue; one that was never used is empty.")),
    request_body(content = ref("#/components/schemas/Claim"), content_type = "application/json"),
    responses((status = 200, body = reply::Claims))
)]
pub(in crate::routes) async fn claim(
    State(app): State<App>,
    Named(queue): Named,
    sent: Sent<SINGLE>,
) -> Result<Json<reply::Claims>, Refused> {
    let (claim, wait) = request::claim(sent.body()?, &queue)?;
    Ok(Json(app.claim(claim, wait).await?.into()))
}
