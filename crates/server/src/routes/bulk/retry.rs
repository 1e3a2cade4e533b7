//! `POST /v1/jobs/retry`.

use crate::app::By;
use crate::refused::Refused;
use crate::sent::{SINGLE, Sent};
use axum::Json;
use tenure_wire::{reply, request};

/// Puts every finished job that matches back: the failed ones, unless `status` says `completed`.
///
/// Works in small steps for some seconds; if that was not enough, `next_cursor` says where to go on.
#[utoipa::path(
    post,
    path = "/v1/jobs/retry",
    tag = "operator",
    operation_id = "retry_all",
    request_body(content = ref("#/components/schemas/RetryAll"), content_type = "application/json"),
    responses((status = 200, body = reply::Bulk))
)]
pub(in crate::routes) async fn retry(By(app): By, sent: Sent<SINGLE>) -> Result<Json<reply::Bulk>, Refused> {
    let bulk = request::retry_all(sent.body()?)?;
    Ok(Json(app.operate(bulk).await?))
}
