//! `POST /v1/jobs/{id}/fail`.

use super::end;
use crate::app::App;
use crate::refused::Refused;
use crate::sent::{Named, SINGLE, Sent};
use axum::Json;
use axum::extract::State;
use tenure_wire::reply;

/// Ends a claim as failed.
///
/// Tried again by the job's backoff while it has attempts, unless the body says otherwise.
#[utoipa::path(
    post,
    path = "/v1/jobs/{id}/fail",
    tag = "jobs",
    params(("id" = String, Path, description = "The job.")),
    request_body(content = ref("#/components/schemas/Fail"), content_type = "application/json"),
    responses((status = 200, body = reply::Ended))
)]
pub(in crate::routes) async fn fail(
    State(app): State<App>,
    Named(id): Named,
    sent: Sent<SINGLE>,
) -> Result<Json<reply::Ended>, Refused> {
    end(app, &id, "fail", sent).await
}
