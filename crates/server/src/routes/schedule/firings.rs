//! `GET /v1/schedules/{name}/firings`.

use super::absent;
use crate::app::App;
use crate::query::Parameters;
use crate::refused::Refused;
use crate::sent::Named;
use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use tenure_wire::{reply, time};

/// The last firings of a schedule, newest first: each slot, when it was fired and its job. The last hundred are kept.
#[utoipa::path(
    get,
    path = "/v1/schedules/{name}/firings",
    tag = "schedules",
    operation_id = "list_firings",
    params(
        ("name" = String, Path, description = "The schedule."),
        ("cursor" = Option<String>, Query, description = "The `next_cursor` of the page before."),
        ("limit" = Option<u32>, Query, description = "Firings in a page, 1 to 1,000; default 100."),
    ),
    responses((status = 200, body = reply::Firings))
)]
pub(in crate::routes) async fn firings(
    State(app): State<App>,
    Named(name): Named,
    uri: Uri,
) -> Result<Json<reply::Firings>, Refused> {
    let sent = Parameters::read(&uri, &["cursor", "limit"])?;
    let before = sent.read_as("cursor", "the next_cursor of an earlier page", time::parse)?;
    let limit = sent.limit()?;
    app.ask(app.tenure.schedule(&name)).await?.ok_or_else(absent)?;
    let page = app.ask(app.tenure.firings(&name, before, limit)).await?;
    Ok(Json(page.into()))
}
