//! `POST /v1/jobs/{id}/snooze`.

use super::end;
use crate::app::App;
use crate::refused::Refused;
use crate::sent::{Named, SINGLE, Sent};
use axum::Json;
use axum::extract::State;
use tenure_wire::reply;

/// Puts a job off, without counting the attempt.
#[utoipa::path(
    post,
    path = "/v1/jobs/{id}/snooze",
    tag = "jobs",
    params(("id" = String, Path, description = "The job.")),
    request_body(content = ref("#/components/schemas/Snooze"), content_type = "application/json"),
    responses((status = 200, body = reply::Ended))
)]
pub(in crate::routes) async fn snooze(
    State(app): State<App>,
    Named(id): Named,
    sent: Sent<SINGLE>,
) -> Result<Json<reply::Ended>, Refused> {
    end(app, &id, "snooze", sent).await
}
