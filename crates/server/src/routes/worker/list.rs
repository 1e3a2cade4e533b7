//! `GET /v1/workers`.

use crate::app::App;
use crate::query::Parameters;
use crate::refused::Refused;
use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use tenure_wire::reply;

/// Workers by name: who claimed in the last day, where and for which kinds, and how many jobs each holds.
#[utoipa::path(
    get,
    path = "/v1/workers",
    tag = "workers",
    operation_id = "list_workers",
    params(
        ("cursor" = Option<String>, Query, description = "The `next_cursor` of the page before."),
        ("limit" = Option<u32>, Query, description = "Workers in a page, 1 to 1,000; default 100."),
    ),
    responses((status = 200, body = reply::Workers))
)]
pub(in crate::routes) async fn list(State(app): State<App>, uri: Uri) -> Result<Json<reply::Workers>, Refused> {
    let sent = Parameters::read(&uri, &["cursor", "limit"])?;
    let known = |cursor: &str| tenure::bounds::name("cursor", cursor).is_ok().then(|| cursor.to_owned());
    let after = sent.read_as("cursor", "the next_cursor of an earlier page", known)?;
    let limit = sent.limit()?;
    let page = app.ask(app.tenure.workers(after.as_deref(), limit)).await?;
    Ok(Json(page.into()))
}
