//! `POST /v1/heartbeats`.

use crate::app::App;
use crate::refused::Refused;
use crate::sent::{BULK, Sent};
use axum::Json;
use axum::extract::State;
use tenure_wire::{reply, request};

/// Renews many leases, each answered on its own, in this order.
#[utoipa::path(
    post,
    path = "/v1/heartbeats",
    tag = "jobs",
    request_body(content = ref("#/components/schemas/Heartbeats"), content_type = "application/json"),
    responses((status = 200, body = reply::Results<reply::Beaten>))
)]
pub(in crate::routes) async fn heartbeats(
    State(app): State<App>,
    sent: Sent<BULK>,
) -> Result<Json<reply::Results<reply::Beaten>>, Refused> {
    let (ids, beats) = request::heartbeats(sent.body()?)?.into_iter().unzip();
    let answers = app.ask(app.tenure.heartbeats(beats)).await?;
    Ok(Json(reply::Results::new(ids, answers)))
}
