//! `GET /v1/openapi.json`.

use crate::app::App;
use axum::extract::State;
use axum::http::header::CONTENT_TYPE;
use axum::response::IntoResponse;

/// This document.
#[utoipa::path(
    get,
    path = "/v1/openapi.json",
    tag = "service",
    responses((status = 200, description = "An OpenAPI document.", content_type = "application/json"))
)]
pub(in crate::routes) async fn openapi(State(app): State<App>) -> impl IntoResponse {
    ([(CONTENT_TYPE, "application/json")], app.openapi.to_string())
}
