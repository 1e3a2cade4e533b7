//! `GET /v1/runs`.

use crate::app::App;
use crate::query::Parameters;
use crate::refused::Refused;
use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use tenure::pipeline::{Filter, RunStatus};
use tenure_wire::pipeline;

/// Runs that match, newest first.
#[utoipa::path(
    get,
    path = "/v1/runs",
    tag = "runs",
    operation_id = "list_runs",
    params(
        ("pipeline" = Option<String>, Query, description = "Only of this pipeline."),
        ("status" = Option<String>, Query, description = "Only in this state: RUNNING, DONE or ERROR."),
        ("cursor" = Option<String>, Query, description = "The `next_cursor` of the page before."),
        ("limit" = Option<u32>, Query, description = "Runs in a page, 1 to 1,000; default 100."),
    ),
    responses((status = 200, body = pipeline::Runs))
)]
pub(in crate::routes) async fn list(State(app): State<App>, uri: Uri) -> Result<Json<pipeline::Runs>, Refused> {
    let sent = Parameters::read(&uri, &["pipeline", "status", "cursor", "limit"])?;
    let filter = Filter {
        pipeline: sent.get("pipeline").map(str::to_owned),
        status: sent.read_as("status", "RUNNING, DONE or ERROR", RunStatus::parse)?,
    };
    let before = sent.read_as("cursor", "the next_cursor of an earlier page", |cursor| cursor.parse().ok())?;
    let page = app.ask(app.tenure.runs(filter, before, sent.limit()?)).await?;
    Ok(Json(page.into()))
}
