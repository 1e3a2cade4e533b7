//! `GET /v1/schedules`.

use crate::app::App;
use crate::query::Parameters;
use crate::refused::Refused;
use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use tenure_wire::reply;

/// Schedules by name, with how they stand.
#[utoipa::path(
    get,
    path = "/v1/schedules",
    tag = "schedules",
    operation_id = "list_schedules",
    params(
        ("cursor" = Option<String>, Query, description = "The `next_cursor` of the page before."),
        ("limit" = Option<u32>, Query, description = "Schedules in a page, 1 to 1,000; default 100."),
    ),
    responses((status = 200, body = reply::Schedules))
)]
pub(in crate::routes) async fn list(State(app): State<App>, uri: Uri) -> Result<Json<reply::Schedules>, Refused> {
    let sent = Parameters::read(&uri, &["cursor", "limit"])?;
    let known = |cursor: &str| tenure::bounds::name("cursor", cursor).is_ok().then(|| cursor.to_owned());
    let after = sent.read_as("cursor", "the next_cursor of an earlier page", known)?;
    let limit = sent.limit()?;
    let page = app.ask(app.tenure.schedules(after.as_deref(), limit)).await?;
    Ok(Json(page.into()))
}
