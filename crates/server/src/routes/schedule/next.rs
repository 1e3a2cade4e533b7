//! `GET /v1/schedules/{name}/next`.

use super::absent;
use crate::app::App;
use crate::query::Parameters;
use crate::refused::Refused;
use crate::sent::Named;
use axum::Json;
use axum::extract::State;
use axum::http::Uri;
use tenure_wire::reply;

/// The slots to come after now, whether the schedule rests or not.
#[utoipa::path(
    get,
    path = "/v1/schedules/{name}/next",
    tag = "schedules",
    operation_id = "next_slots",
    params(
        ("name" = String, Path, description = "The schedule."),
        ("limit" = Option<u32>, Query, description = "How many, 1 to 1,000; default 100."),
    ),
    responses((status = 200, body = reply::Slots))
)]
pub(in crate::routes) async fn next(
    State(app): State<App>,
    Named(name): Named,
    uri: Uri,
) -> Result<Json<reply::Slots>, Refused> {
    let limit = Parameters::read(&uri, &["limit"])?.limit()?;
    let schedule = app.ask(app.tenure.schedule(&name)).await?.ok_or_else(absent)?;
    let (cron, zone) = (&schedule.definition.cron, &schedule.definition.zone);
    let slots = app.ask(app.tenure.preview(cron, zone, limit)).await?;
    Ok(Json(slots.into()))
}
