//! `GET /v1/runs/{id}/stages/{stage}/segments`.

use crate::app::App;
use crate::query::Parameters;
use crate::refused::Refused;
use crate::sent::Parts;
use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use tenure_wire::pipeline;

/// The segments of a stage with their outputs, in the order of the split.
#[utoipa::path(
    get,
    path = "/v1/runs/{id}/stages/{stage}/segments",
    tag = "runs",
    operation_id = "list_segments",
    params(
        ("id" = String, Path, description = "The run."),
        ("stage" = String, Path, description = "The stage."),
        ("cursor" = Option<String>, Query, description = "The `next_cursor` of the page before."),
        ("limit" = Option<u32>, Query, description = "Segments in a page, 1 to 1,000; default 100."),
    ),
    responses((status = 200, body = pipeline::SegmentPage))
)]
pub(in crate::routes) async fn segments(
    State(app): State<App>,
    Parts([id, stage]): Parts<2>,
    uri: Uri,
) -> Result<Json<pipeline::SegmentPage>, Refused> {
    let sent = Parameters::read(&uri, &["cursor", "limit"])?;
    let after = sent.read_as("cursor", "the next_cursor of an earlier page", |cursor| cursor.parse().ok())?;
    let page = app.ask(app.tenure.segments(pipeline::run_id(&id), &stage, after, sent.limit()?)).await?;
    Ok(Json(page.into()))
}
