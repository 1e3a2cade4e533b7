//! `POST /v1/jobs/{id}/cancel`.

use crate::app::By;
use crate::refused::Refused;
use crate::sent::{Named, SINGLE, Sent};
use axum::Json;
use tenure_wire::{reply, request};

/// Ends a job: a waiting one at once, a running one by asking its holder, or with `force` now.
///
/// The body may be left out. 409 `terminal` if it has ended already.
#[utoipa::path(
    post,
    path = "/v1/jobs/{id}/cancel",
    tag = "operator",
    params(("id" = String, Path, description = "The job.")),
    request_body(content = ref("#/components/schemas/Cancel"), content_type = "application/json"),
    responses((status = 200, body = reply::Cancelled))
)]
pub(in crate::routes) async fn cancel(
    By(app): By,
    Named(id): Named,
    sent: Sent<SINGLE>,
) -> Result<Json<reply::Cancelled>, Refused> {
    let (reason, force) = request::cancel(sent.optional_body()?)?;
    let status = app.ask(app.tenure.cancel(request::job_id(&id), reason.as_deref(), force)).await?;
    Ok(Json(status.into()))
}
