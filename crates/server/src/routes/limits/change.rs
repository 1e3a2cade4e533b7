//! `PUT /v1/limits`.

use crate::app::By;
use crate::refused::Refused;
use crate::sent::{SINGLE, Sent};
use axum::Json;
use axum::extract::State;
use tenure_wire::{reply, request};

/// Changes the limits that are sent. Lowering one takes nothing away: it stops new claims until fewer run.
#[utoipa::path(
    put,
    path = "/v1/limits",
    tag = "queues",
    operation_id = "change_limits",
    request_body(content = ref("#/components/schemas/LimitsChange"), content_type = "application/json"),
    responses((status = 200, body = reply::Limits))
)]
pub(in crate::routes) async fn change(By(app): By, sent: Sent<SINGLE>) -> Result<Json<reply::Limits>, Refused> {
    if let Some(max_running) = request::limits(sent.body()?)? {
        app.ask(app.tenure.set_limit(max_running)).await?;
        return Ok(Json(reply::Limits { max_running }));
    }
    super::show::show(State(app)).await
}
