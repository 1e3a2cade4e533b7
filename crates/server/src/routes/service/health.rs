//! `GET /healthz`.

use axum::http::StatusCode;

/// Whether the process answers.
#[utoipa::path(get, path = "/healthz", tag = "service", responses((status = 204, description = "It does.")))]
pub(in crate::routes) async fn health() -> StatusCode {
    StatusCode::NO_CONTENT
}
