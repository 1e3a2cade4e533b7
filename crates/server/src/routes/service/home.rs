//! `GET /`.

/// A line for whoever opens the address in a browser.
#[utoipa::path(get, path = "/", tag = "service", responses((status = 200, content_type = "text/plain")))]
pub(in crate::routes) async fn home() -> &'static str {
    "Tenure: durable work, held under lease. The API is under /v1, and /v1/openapi.json describes it.\n"
}
