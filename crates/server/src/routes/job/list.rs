//! `GET /v1/jobs`.

use crate::app::App;
use crate::query::Parameters;
use crate::refused::Refused;
use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use tenure::{Filter, Status};
use tenure_wire::reply;

/// Jobs that match, newest first, without their payloads.
#[utoipa::path(
    get,
    path = "/v1/jobs",
    tag = "jobs",
    operation_id = "list_jobs",
    params(
        ("queue" = Option<String>, Query, description = "Only of this queue."),
        ("status" = Option<String>, Query, description = "Only in this state: queued, running, completed or failed."),
        ("kind" = Option<String>, Query, description = "Only of this kind."),
        ("cursor" = Option<String>, Query, description = "The `next_cursor` of the page before."),
        ("limit" = Option<u32>, Query, description = "Jobs in a page, 1 to 1,000; default 100."),
    ),
    responses((status = 200, body = reply::Jobs))
)]
pub(in crate::routes) async fn list(State(app): State<App>, uri: Uri) -> Result<Json<reply::Jobs>, Refused> {
    let sent = Parameters::read(&uri, &["queue", "status", "kind", "cursor", "limit"])?;
    let filter = Filter {
        queue: sent.get("queue").map(str::to_owned),
        status: sent.read_as("status", "queued, running, completed or failed", Status::parse)?,
        kind: sent.get("kind").map(str::to_owned),
    };
    let before = sent.read_as("cursor", "the next_cursor of an earlier page", |cursor| cursor.parse().ok())?;
    let limit = sent.limit()?;
    let page = app.ask(app.tenure.jobs(filter, before, limit)).await?;
    Ok(Json(page.into()))
}
