//! `POST /v1/jobs/cancel`.

use crate::app::By;
use crate::refused::Refused;
use crate::sent::{SINGLE, Sent};
use axum::Json;
use tenure_wire::{reply, request};

/// Ends every job that matches, as `POST /v1/jobs/{id}/cancel` would.
///
/// Works in small steps for some seconds; if that was not enough, `next_cursor` says where to go on.
#[utoipa::path(
    post,
    path = "/v1/jobs/cancel",
    tag = "operator",
    operation_id = "cancel_all",
    request_body(content = ref("#/components/schemas/CancelAll"), content_type = "application/json"),
    responses((status = 200, body = reply::Bulk))
)]
pub(in crate::routes) async fn cancel(By(app): By, sent: Sent<SINGLE>) -> Result<Json<reply::Bulk>, Refused> {
    let bulk = request::cancel_all(sent.body()?)?;
    Ok(Json(app.operate(bulk).await?))
}
