//! `GET /v1/pipelines`.

use crate::app::App;
use crate::query::Parameters;
use crate::refused::Refused;
use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use tenure_wire::pipeline;

/// Pipelines by name, each with its highest version.
#[utoipa::path(
    get,
    path = "/v1/pipelines",
    tag = "pipelines",
    operation_id = "list_pipelines",
    params(
        ("cursor" = Option<String>, Query, description = "The `next_cursor` of the page before."),
        ("limit" = Option<u32>, Query, description = "Pipelines in a page, 1 to 1,000; default 100."),
    ),
    responses((status = 200, body = pipeline::Pipelines))
)]
pub(in crate::routes) async fn list(State(app): State<App>, uri: Uri) -> Result<Json<pipeline::Pipelines>, Refused> {
    let sent = Parameters::read(&uri, &["cursor", "limit"])?;
    let known = |cursor: &str| tenure::bounds::name("cursor", cursor).is_ok().then(|| cursor.to_owned());
    let after = sent.read_as("cursor", "the next_cursor of an earlier page", known)?;
    let page = app.ask(app.tenure.pipelines(after.as_deref(), sent.limit()?)).await?;
    Ok(Json(page.into()))
}
