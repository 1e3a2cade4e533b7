//! `POST /v1/queues/{queue}/jobs`.

use crate::app::App;
use crate::refused::Refused;
use crate::sent::{BULK, Named, Sent};
use axum::Json;
use axum::extract::State;
use axum::http::StatusCode;
use tenure_wire::{reply, request};

/// Adds one job, or `{"jobs": […]}`: all of them or none, in this order.
///
/// One job is a `NewJob`, at most 1 MiB of payload; a list is a `NewJobs`, at most 16 MiB in all.
#[utoipa::path(
    post,
    path = "/v1/queues/{queue}/jobs",
    tag = "queues",
    params(("queue" = String, Path, description = "The queue; created if it is new.")),
    request_body(content((ref("#/components/schemas/NewJob")), (ref("#/components/schemas/NewJobs")))),
    responses((status = 201, body = reply::Enqueued))
)]
pub(in crate::routes) async fn enqueue(
    State(app): State<App>,
    Named(queue): Named,
    sent: Sent<BULK>,
) -> Result<(StatusCode, Json<reply::Enqueued>), Refused> {
    let (jobs, bulk) = request::jobs(sent.body()?, &queue)?;
    if !bulk {
        sent.single()?;
    }
    let enqueued = app.ask(app.tenure.enqueue_all(jobs)).await?;
    Ok((StatusCode::CREATED, Json(enqueued.into())))
}
