//! `PUT /v1/queues/{queue}`.

use crate::app::By;
use crate::refused::Refused;
use crate::sent::{Named, SINGLE, Sent};
use axum::Json;
use tenure_wire::{reply, request};

/// Changes the settings that are sent, `null` sets one back to its default. Binds claims that begin after it.
#[utoipa::path(
    put,
    path = "/v1/queues/{queue}",
    tag = "queues",
    operation_id = "change_queue",
    params(("queue" = String, Path, description = "The queue; created if it is new.")),
    request_body(content = ref("#/components/schemas/QueueChange"), content_type = "application/json"),
    responses((status = 200, body = reply::Queue))
)]
pub(in crate::routes) async fn change(
    By(app): By,
    Named(name): Named,
    sent: Sent<SINGLE>,
) -> Result<Json<reply::Queue>, Refused> {
    let change = request::change(sent.body()?)?;
    let queue = app.ask(app.tenure.change_queue(&name, change)).await?;
    Ok(Json(queue.into()))
}
