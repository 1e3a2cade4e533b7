//! The server itself.

use crate::api::Api;
use axum::http::StatusCode;
use axum::http::header::CONTENT_TYPE;

pub(super) fn routes(api: &mut Api) {
    api.get("/", "service", "home", "A line for whoever opens the address in a browser.").shows(|_, []| async {
        Ok("Tenure: durable work, held under lease. The API is under /v1, and /v1/openapi.json describes it.\n")
    });
    api.get("/healthz", "service", "health", "Whether the process answers.")
        .answers("It does.")
        .shows(|_, []| async { Ok(StatusCode::NO_CONTENT) });
    api.get("/readyz", "service", "ready", "Whether the store answers, and would accept a write.")
        .answers("It does.")
        .shows(|app, []| async move { app.ready().await.map(|()| StatusCode::NO_CONTENT) });
    api.get("/v1/openapi.json", "service", "openapi", "This document.")
        .answers("An OpenAPI document.")
        .shows(|app, []| async move { Ok(([(CONTENT_TYPE, "application/json")], app.openapi.to_string())) });
}
