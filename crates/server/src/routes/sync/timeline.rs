//! `GET /v1/syncs/{id}/timeline`.

use crate::app::App;
use crate::refused::Refused;
use crate::sent::Named;
use axum::Json;
use axum::extract::State;
use tenure_wire::Problem;
use tenure_wire::reply::sync::SyncTimeline;
use tenure_wire::request::sync::sync_id;

/// What happened to a sync and its chunks otherwise than well, oldest first, the latest thousand.
#[utoipa::path(
    get,
    path = "/v1/syncs/{id}/timeline",
    tag = "syncs",
    operation_id = "sync_timeline",
    params(("id" = String, Path, description = "The sync.")),
    responses((status = 200, body = SyncTimeline))
)]
pub(in crate::routes) async fn timeline(
    State(app): State<App>,
    Named(id): Named,
) -> Result<Json<SyncTimeline>, Refused> {
    let events = app.ask(app.tenure.sync_timeline(sync_id(&id))).await?;
    Ok(Json(events.ok_or_else(|| Problem::absent("the sync"))?.into()))
}
