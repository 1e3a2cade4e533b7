//! `GET /v1/queues`.

use crate::app::App;
use crate::query::Parameters;
use crate::refused::Refused;
use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use tenure_wire::reply;

/// Queues by name, with what they hold.
#[utoipa::path(
    get,
    path = "/v1/queues",
    tag = "queues",
    operation_id = "list_queues",
    params(
        ("cursor" = Option<String>, Query, description = "The `next_cursor` of the page before."),
        ("limit" = Option<u32>, Query, description = "Queues in a page, 1 to 1,000; default 100."),
    ),
    responses((status = 200, body = reply::Queues))
)]
pub(in crate::routes) async fn list(State(app): State<App>, uri: Uri) -> Result<Json<reply::Queues>, Refused> {
    let sent = Parameters::read(&uri, &["cursor", "limit"])?;
    let known = |cursor: &str| tenure::bounds::name("cursor", cursor).is_ok().then(|| cursor.to_owned());
    let after = sent.read_as("cursor", "the next_cursor of an earlier page", known)?;
    let limit = sent.limit()?;
    let page = app.ask(app.tenure.queues(after.as_deref(), limit)).await?;
    Ok(Json(page.into()))
}
