//! `GET /v1/pipelines/{name}/timeline`.

use crate::app::App;
use crate::refused::Refused;
use crate::sent::Named;
use axum::Json;
use axum::extract::State;
use tenure::changes::{Face, Subject};
use tenure_wire::{Problem, reply};

/// Which versions of a pipeline were put on record, oldest first, and by whom.
#[utoipa::path(
    get,
    path = "/v1/pipelines/{name}/timeline",
    tag = "pipelines",
    operation_id = "pipeline_timeline",
    params(("name" = String, Path, description = "The pipeline.")),
    responses((status = 200, body = reply::Changes))
)]
pub(in crate::routes) async fn timeline(
    State(app): State<App>,
    Named(name): Named,
) -> Result<Json<reply::Changes>, Refused> {
    let changes = app.ask(app.tenure.changes(Subject::new(Face::Pipeline, name))).await?;
    Ok(Json(changes.ok_or_else(|| Problem::absent("this pipeline"))?.into()))
}
