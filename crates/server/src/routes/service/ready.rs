//! `GET /readyz`.

use crate::app::App;
use crate::refused::Refused;
use axum::extract::State;
use axum::http::StatusCode;

/// Whether the store answers, and would accept a write.
#[utoipa::path(get, path = "/readyz", tag = "service", responses((status = 204, description = "It does.")))]
pub(in crate::routes) async fn ready(State(app): State<App>) -> Result<StatusCode, Refused> {
    app.ready().await?;
    Ok(StatusCode::NO_CONTENT)
}
