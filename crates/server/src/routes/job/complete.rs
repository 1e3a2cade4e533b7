//! `POST /v1/jobs/{id}/complete`.

use super::end;
use crate::app::App;
use crate::refused::Refused;
use crate::sent::{Named, SINGLE, Sent};
use axum::Json;
use axum::extract::State;
use tenure_wire::reply;

/// Ends a claim as done.
///
/// The same ending sent again is answered as the first time, with `already`.
#[utoipa::path(
    post,
    path = "/v1/jobs/{id}/complete",
    tag = "jobs",
    params(("id" = String, Path, description = "The job.")),
    request_body(content = ref("#/components/schemas/Complete"), content_type = "application/json"),
    responses((status = 200, body = reply::Ended))
)]
pub(in crate::routes) async fn complete(
    State(app): State<App>,
    Named(id): Named,
    sent: Sent<SINGLE>,
) -> Result<Json<reply::Ended>, Refused> {
    end(app, &id, "complete", sent).await
}
