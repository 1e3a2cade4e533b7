//! `GET /v1/pipelines/{name}`.

use crate::app::App;
use crate::refused::Refused;
use crate::sent::Named;
use axum::Json;
use axum::extract::State;
use tenure_wire::{Problem, pipeline};

/// The highest version of a pipeline.
#[utoipa::path(
    get,
    path = "/v1/pipelines/{name}",
    tag = "pipelines",
    operation_id = "show_pipeline",
    params(
        ("name" = String, Path, description = "The pipeline."),
    ),
    responses((status = 200, body = pipeline::Pipeline))
)]
pub(in crate::routes) async fn show(
    State(app): State<App>,
    Named(name): Named,
) -> Result<Json<pipeline::Pipeline>, Refused> {
    let info = app.ask(app.tenure.pipeline(&name, None)).await?;
    Ok(Json(info.ok_or_else(|| Problem::absent("this pipeline"))?.into()))
}
